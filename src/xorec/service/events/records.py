"""What stands in the log: events of users, and changes of what is served. One sequence for both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Id = Any
"""A raw id as JSON has it: text or a number. In the log it stands as canonical JSON text."""


class NewEvent(NamedTuple):
    """An event that was checked and has no place in the log yet. ts: microseconds since 1970, UTC.

    event_id: the client's, or a hash of all fields; the log takes each once.
    """

    event_id: str
    user: Id
    item: Id
    kind: str
    value: float
    ts: int
    request_id: str | None


class Event(NamedTuple):
    """An event with its place in the log."""

    seq: int
    event_id: str
    user: Id
    item: Id
    kind: str
    value: float
    ts: int
    request_id: str | None


class Change(NamedTuple):
    """A change of what is served, for everybody who follows the log.

    kind: "item" (PUT, PATCH and DELETE of an item), "erase" (a user), "experiment",
    "activate" (a generation of a model).
    """

    seq: int
    kind: str
    body: Mapping[str, Any]


Record = Event | Change


class EventColumns(NamedTuple):
    """Events in the order of the log: of each what is served by. Many cost little so."""

    seqs: Sequence[int] = ()
    users: Sequence[Id] = ()
    items: Sequence[Id] = ()
    values: Sequence[float] = ()
    times: Sequence[int] = ()

    def part(self, begin: int, end: int | None = None) -> EventColumns:
        """Those from one row to another."""
        if begin == 0 and end is None:
            return self
        columns: list[Any] = [column[begin:end] for column in self]
        return EventColumns(*columns)


class News(NamedTuple):
    """What stands in the log after a place: events, and changes among them; both ascend by seq."""

    events: EventColumns
    changes: Sequence[Change]

    @classmethod
    def of(cls, records: Sequence[Record]) -> News:
        """From records in their order.

        >>> tea = Event(4, "e4", "ann", "tea", "click", 1.0, 0, None)
        >>> News.of([tea, Change(5, "erase", {"user": "bob"})]).events.users
        ('ann',)
        """
        rows = [
            (one.seq, one.user, one.item, one.value, one.ts)
            for one in records
            if isinstance(one, Event)
        ]
        changes = [one for one in records if isinstance(one, Change)]
        return cls(EventColumns(*zip(*rows, strict=True)), changes)

    @property
    def last_seq(self) -> int:
        """Of the last of them; 0 where there is nothing."""
        seqs, changes = self.events.seqs, self.changes
        return max(seqs[-1] if seqs else 0, changes[-1].seq if changes else 0)


class Exposure(NamedTuple):
    """A list that somebody was shown in an experiment. items: JSON ids in order."""

    request_id: str
    experiment: str
    arm: str
    user: Id
    items: list[Id]
    ts: int


@dataclass(frozen=True)
class Appended:
    """What became of a client's events. seq: the log's last place when they were in it."""

    accepted: int
    duplicates: int
    seq: int


@dataclass(frozen=True)
class Erased:
    """What was erased of a user."""

    events: int
    exposures: int
    seq: int
