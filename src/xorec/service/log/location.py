"""Where the log of a service is, and which machine the service is among those that share one."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xorec.core.addresses import Address, parse_address
from xorec.core.errors import OptionError
from xorec.core.files import write_text
from xorec.service.log.base import Log, LogReader
from xorec.service.log.sqlite import SqliteDialect, SqliteLog

FILE = "machine.json"
SQLITE = "events.db"
"""The log in a folder."""


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
        self.name, self.log = secrets.token_hex(8), None
        if not self.path.exists():
            self._write()
            return
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.name, self.log = str(kept["machine"]), kept["log"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OptionError(
                f"{self.path} does not say which machine this is ({error}): put it back, or "
                "give a new folder (--data)."
            ) from None

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


@dataclass(frozen=True)
class LogLocation:
    """folder: the service's own. address: of a shared log; None: it is in the folder."""

    folder: Path
    address: Address | None = None

    @classmethod
    def of(cls, folder: Path, events: str | None) -> LogLocation:
        """As the settings have it. events: an address, with its secrets."""
        return cls(folder, None if not events else parse_address(events))

    @property
    def has_begun(self) -> bool:
        """Whether the folder has had a log, of whatever kind."""
        return (self.folder / SQLITE).exists() or (self.folder / FILE).exists()

    @property
    def machine(self) -> str | None:
        """This machine among those that share the log; None where the log is in the folder."""
        return None if self.address is None else Machine(self.folder).name

    def check(self) -> None:
        """Refuse what can be known to fail before anything is made."""
        if self.address is not None:
            from xorec.databases.postgresql import driver

            driver()
        elif (self.folder / FILE).exists():
            raise OptionError(
                f"the events of {self.folder} are in a database that machines share: give its "
                'address (events = "postgresql://..."), or another folder (--data).'
            )

    def open_log(
        self, durability: Literal["disk", "process"], floor: int = 0, purged: int = 0
    ) -> Log:
        """The writing side. floor: seqs begin above it. purged: no model file here has anybody
        who was erased up to this seq."""
        self.check()
        own = self.folder / SQLITE
        if self.address is None:
            return SqliteLog(own, durability, floor)
        from xorec.service.log.postgresql_log import PostgresqlLog

        copy = own if own.exists() else None
        machine = Machine(self.folder)
        log = PostgresqlLog(
            self.address, machine, durability, floor=floor, purged=purged, copy=copy
        )
        if copy is not None:
            copy.rename(self.folder / f"{SQLITE}.moved")
        return log

    def open_reader(self) -> LogReader:
        if self.address is None:
            return LogReader(SqliteDialect(self.folder / SQLITE))
        from xorec.service.log.postgresql import PostgresqlDialect

        return LogReader(PostgresqlDialect(self.address))
