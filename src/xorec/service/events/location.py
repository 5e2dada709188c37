"""Where the events of a service are: in its folder, or in a database that machines share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xorec.core.addresses import Address, parse_address
from xorec.core.errors import OptionError
from xorec.service.events.machine import FILE, Machine

if TYPE_CHECKING:
    from xorec.service.events.interface import Log, Reader

SQLITE = "events.db"
"""The log in a folder."""
_MOVED = "events.db.moved"


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
        """The name of this machine among those that share the log; None where nobody does."""
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
        """The writing side. floor: places begin above it. purged: no model file here has anybody
        who was erased up to this place."""
        self.check()
        if self.address is None:
            from xorec.service.events.log import EventLog

            return EventLog(self.folder / SQLITE, durability, floor)
        from xorec.service.events.postgresql.log import PostgresqlLog

        own = self.folder / SQLITE
        copy = own if own.exists() else None
        log = PostgresqlLog(
            self.address,
            Machine(self.folder),
            durability,
            floor=floor,
            purged=purged,
            copy=copy,
        )
        if copy is not None:
            copy.rename(self.folder / _MOVED)
        return log

    def open_reader(self) -> Reader:
        """The reading side."""
        if self.address is None:
            from xorec.service.events.reader import LogReader

            return LogReader(self.folder / SQLITE)
        from xorec.service.events.postgresql.reader import PostgresqlReader

        return PostgresqlReader(self.address)
