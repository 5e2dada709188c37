"""What every event log promises, whatever keeps it: `tests/support/event_logs.py` asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from xorec.service.events.records import Change, Event, Exposure, Id, NewEvent, News, Record
from xorec.service.events.rows import Batch, EventRow, ExposureRow, Written


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
