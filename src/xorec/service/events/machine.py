"""Machine: who a service is among those that share a log. It stands in the service's folder."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from xorec.core.addresses import Address
from xorec.core.errors import OptionError
from xorec.core.files import write_text

FILE = "machine.json"


class Machine:
    """name: of this folder, for ever. log: the one that its models have learned from.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = Machine(Path(folder))
    ...     first.bind("a-log")
    ...     again = Machine(Path(folder))
    >>> again.name == first.name, again.log
    (True, 'a-log')
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.log: str | None = None
        if self.path.exists():
            try:
                kept = json.loads(self.path.read_text(encoding="utf-8"))
                self.name, self.log = str(kept["machine"]), kept["log"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise OptionError(
                    f"{self.path} does not say which machine this is ({error}): put it back, or "
                    "give a new folder (--data)."
                ) from None
        else:
            self.name = secrets.token_hex(8)
            self._write()

    def require(self, log: str, address: Address) -> None:
        """Refuse another log than the one that the models of this folder have learned from."""
        if self.log not in (None, log):
            raise OptionError(
                f"the models of {self.path.parent} follow another event log than {address}: its "
                "places mean other events. Give the address of the other, or a new folder (--data)."
            )

    def bind(self, log: str) -> None:
        """From now on it follows this log."""
        if self.log != log:
            self.log = log
            self._write()

    def _write(self) -> None:
        write_text(self.path, json.dumps({"machine": self.name, "log": self.log}) + "\n")
