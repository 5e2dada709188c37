"""What every event log promises, and its errors: `tests/support/event_logs.py` tests each kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from xorec.core.errors import XorecError
from xorec.service.log.records import (
    Batch,
    Change,
    Event,
    EventRow,
    Exposure,
    ExposureRow,
    Id,
    NewEvent,
    News,
    Record,
    Written,
)


class StorageFull(XorecError):  # noqa: N818 (what happened, as the status 507 says it)
    """No room for the log: nothing of the call was written. The service answers 507."""


class StorageFailed(XorecError):  # noqa: N818
    """The log cannot be written or read now: nothing of the call was written. Answered by 503."""


_FULL = {"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"}
_REASONS = {
    "SQLITE_BUSY": "another process holds it: end the program that writes to it",
    "SQLITE_LOCKED": "another process holds it: end the program that writes to it",
    "SQLITE_READONLY": "it may not be written to: give the service's user the right to write to "
    "the file and its folder",
    "SQLITE_PERM": "it may not be opened: give the service's user the right to read and write it",
    "SQLITE_CANTOPEN": "it cannot be opened: the folder must exist, and the service's user must "
    "have the right to write to it",
    "SQLITE_CORRUPT": "it is damaged: restore a snapshot, or move the file away to begin anew",
    "SQLITE_NOTADB": "it is no SQLite database: restore a snapshot, or move the file away to "
    "begin anew",
    "SQLITE_IOERR": "the disk does not answer as it should: look at the system's log",
}


def storage_error(path: Path, error: sqlite3.Error) -> StorageFull | StorageFailed:
    """SQLite's error in words.

    >>> storage_error(Path("events.db"), sqlite3.OperationalError("no such table: events"))
    StorageFailed('the event log events.db: no such table: events.')
    """
    name = getattr(error, "sqlite_errorname", None) or ""
    if name in _FULL:
        return StorageFull(
            f"no space left for the event log {path}: free some, the next write then succeeds."
        )
    known = next((reason for code, reason in _REASONS.items() if name.startswith(code)), None)
    return StorageFailed(f"the event log {path}: {known or error}.")


class Log(Protocol):
    """The writing side, for one thread at a time: `LogWriter`'s.

    An event whose `event_id` the log has, or had before an erasure, is a duplicate. Failures are
    StorageFull and StorageFailed, and the log can be used on after them.
    """

    @property
    def durability(self) -> str:
        """ "disk": commits survive a crash of the machine; "process": of the process only."""

    @property
    def last_seq(self) -> int:
        """The last place that was given; places ascend and none is given twice."""

    def rows(self, events: Sequence[NewEvent]) -> list[EventRow]:
        """Events as rows, checked; from any thread."""

    def exposure_row(self, exposure: Exposure) -> ExposureRow:
        """The same of an exposure."""

    def write(self, batch: Batch) -> Written:
        """All of the batch, or nothing; when this returns it is as safe as `durability` says."""

    def tidy(self) -> bool:
        """What need not be done before an answer. False: something is left, ask again soon."""

    def backup(self, path: Path, between: Callable[[], None]) -> None:
        """A consistent copy; `between` is called often meanwhile and may write to the log."""

    def close(self) -> None:
        """Let go of everything."""


class Outcome(NamedTuple):
    """A user in an experiment: lists that they were shown, and how many of them they acted on."""

    arm: str
    user: Id
    lists: int
    successes: int


class Reader(Protocol):
    """The reading side: from any thread, of any process."""

    def after(self, seq: int, limit: int | None = None) -> list[Record]:
        """Events and changes with places above `seq`, ascending."""

    def blocks(self, seq: int, size: int = 2_000) -> Iterator[list[Record]]:
        """All of `after`, a block at a time."""

    def news(self, seq: int, limit: int) -> News:
        """What `after` has, as who follows the log needs it: fast. At most `limit` of each kind,
        and nothing above what is left out."""

    def events_of(self, user: Id, k: int, before: int | None = None) -> list[Event]:
        """A user's events, newest first."""

    def newest(self, k: int, before: int | None = None) -> list[Event]:
        """The last k events of everybody, newest first; before: places below this one."""

    def event(self, event_id: str) -> Event | None:
        """The event of that name."""

    def changes(self, kind: str, after: int = 0) -> list[Change]:
        """Changes of one kind, ascending."""

    def exposures(self, experiment: str) -> list[Exposure]:
        """Lists that were shown in an experiment, in order."""

    def outcomes(self, experiment: str, kind: str | None = None) -> list[Outcome]:
        """Users of an experiment and what came of their lists."""

    def items_since(self, ts: int) -> list[tuple[Id, int, int]]:
        """(item, events, time of the last) since a time, most events first."""

    def kinds(self) -> dict[str, int]:
        """Events of each kind."""

    def span(self) -> tuple[int, int] | None:
        """Times of the earliest and of the latest event."""

    def count(self) -> int:
        """Events in the log."""

    def last_seq(self) -> int:
        """The last place that was given."""

    def close(self) -> None:
        """Let go of everything."""
