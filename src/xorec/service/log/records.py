"""What stands in the log: events of users, and changes of what is served. One sequence for both."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from xorec.core.errors import DataError
from xorec.core.printable import quoted

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


_encode = json.JSONEncoder(allow_nan=False).encode
_TYPES = (str, int, float, bool)


class EventRow(NamedTuple):
    """key: hash of event_id; user_key: hash of user. user, item: JSON text."""

    key: bytes
    user_key: int
    user: str
    item: str
    event: NewEvent


def event_rows(events: Iterable[NewEvent], salt: bytes) -> list[EventRow]:
    """A client's events as rows; a DataError that names the first that no log can take."""
    rows = []
    for at, event in enumerate(events):
        try:
            for text in (event.event_id, event.kind, event.request_id or ""):
                text.isascii() or text.encode()
            if not math.isfinite(event.value):
                raise ValueError(f"value {event.value} is not finite")
            if not -(2**63) <= event.ts < 2**63:
                raise ValueError(f"ts {quoted(event.ts)} is out of range")
            user = id_text(event.user)
            row = EventRow(
                event_key(event.event_id, salt),
                user_key(user, salt),
                user,
                id_text(event.item),
                event,
            )
        except UnicodeEncodeError:
            raise DataError(f"event {at}: its text has half a surrogate pair.") from None
        except ValueError as error:
            raise DataError(f"event {at}: {error}.") from None
        rows.append(row)
    return rows


def id_text(value: Id) -> str:
    """An id as canonical JSON.

    >>> id_text("a\\0"), id_text(1), id_text("1")
    ('"a\\\\u0000"', '1', '"1"')
    """
    if type(value) not in _TYPES:
        raise ValueError(f"{quoted(value)} is no id that JSON has: text or a number")
    return _encode(value + 0.0 if type(value) is float else value)


def ids_of(texts: Sequence[str]) -> list[Any]:
    """The ids that these texts mean: one call of the parser for all."""
    ids: list[Any] = json.loads(f"[{','.join(texts)}]")
    return ids


def event_key(event_id: str, salt: bytes) -> bytes:
    """What the log knows an event by, also after its erasure."""
    return blake2b(event_id.encode(), digest_size=16, key=salt).digest()


def user_key(user: str, salt: bytes) -> int:
    """What the log finds a user's rows by; user: JSON text."""
    digest = blake2b(user.encode(), digest_size=8, key=salt).digest()
    return int.from_bytes(digest, "little", signed=True)


class ChangeRow(NamedTuple):
    """text: the body as JSON; body: as it comes out of that again."""

    kind: str
    body: dict[str, Any]
    text: str


def change_row(kind: str, body: Mapping[str, Any]) -> ChangeRow:
    """A change as a row; a DataError where JSON has no such body."""
    try:
        text = _encode(dict(body))
        return ChangeRow(kind, json.loads(text), text)
    except (TypeError, ValueError) as error:
        raise DataError(f"the change of {kind!r} is not JSON: {error}.") from None


class ExposureRow(NamedTuple):
    """An exposure in the order of the columns."""

    request_id: str
    experiment: str
    arm: str
    user_key: int
    user: str
    items: str
    ts: int


def exposure_row(exposure: Exposure, salt: bytes) -> ExposureRow:
    """An exposure as a row; a DataError where it is none that a log can take."""
    try:
        for text in (exposure.request_id, exposure.experiment, exposure.arm):
            text.encode()
        user, items = id_text(exposure.user), map(id_text, exposure.items)
        return ExposureRow(
            exposure.request_id,
            exposure.experiment,
            exposure.arm,
            user_key(user, salt),
            user,
            f"[{','.join(items)}]",
            exposure.ts,
        )
    except ValueError as error:
        raise DataError(f"the exposure {quoted(exposure.request_id)}: {error}.") from None


class Batch(NamedTuple):
    """What one transaction writes: calls of clients, and at the end a user to erase.

    forget: the records of erasures up to this place go, for they name whom they erased.
    """

    events: Sequence[Sequence[EventRow]] = ()
    changes: Sequence[Sequence[ChangeRow]] = ()
    exposures: Sequence[ExposureRow] = ()
    erase: Id | None = None
    forget: int | None = None

    @property
    def has_only_events(self) -> bool:
        """As most have."""
        return not self.changes and not self.exposures and self.erase is self.forget is None


class Written(NamedTuple):
    """What became of each call of a batch, and the new records in order."""

    appended: list[Appended]
    changed: list[int]
    erased: Erased | None
    records: list[Record]


Row = tuple[Any, ...]
Texts = Sequence[str | None]


def as_events(rows: Sequence[Row]) -> list[Event]:
    """Rows in the order of an event's fields, ids as JSON text."""
    if not rows:
        return []
    seqs, event_ids, users, items, *others = zip(*rows, strict=True)
    columns = (seqs, event_ids, ids_of(users), ids_of(items), *others)
    return list(map(Event._make, zip(*columns, strict=True)))


def as_changes(rows: Sequence[Row]) -> list[Change]:
    """Rows of seq, kind and the body as JSON text."""
    return [Change(seq, kind, json.loads(body)) for seq, kind, body in rows]


def as_records(events: list[Event], changes: list[Change], limit: int | None) -> list[Record]:
    """Both, in one sequence."""
    records: list[Record] = [*events, *changes]
    if changes:
        records.sort(key=lambda record: record[0])
    return records[:limit]


def as_news(texts: Texts, changes: list[Change], limit: int) -> News:
    """News of at most `limit` events and changes. texts: columns, as `columns_of` takes them."""
    events = EventColumns() if texts[0] is None else columns_of(texts)
    ends = [events.seqs[-1]] if len(events.seqs) == limit else []
    ends += [changes[-1].seq] if len(changes) == limit else []
    if not ends:
        return News(events, changes)
    last = min(ends)  # above it something may be left out
    known = events.part(0, bisect_right(events.seqs, last))
    return News(known, [change for change in changes if change.seq <= last])


def columns_of(texts: Texts) -> EventColumns:
    """Events from their columns, each the inside of a JSON array.

    >>> columns_of(["2,1", '"bob","ann"', "7,8", "0.5,1.0", "0,0"]).users
    ('ann', 'bob')
    """
    columns = json.loads("[[" + "],[".join(map(str, texts)) + "]]")
    if columns[0] != sorted(columns[0]):  # no database promises an order of what it puts together
        columns = zip(*sorted(zip(*columns, strict=True)), strict=True)
    return EventColumns(*columns)
