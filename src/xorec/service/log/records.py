"""Records of the log: events of users, and changes of what is served, in one sequence."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from xorec.core.errors import DataError
from xorec.core.printable import quoted

Id = Any
"""A raw id as JSON has it: text or a number. In the log it stands as canonical JSON text."""
Row = tuple[Any, ...]


class NewEvent(NamedTuple):
    """An event that was checked and has no seq in the log yet. ts: microseconds since 1970, UTC.

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
    """An event in the log. seq: its position there; seqs ascend, none is given twice."""

    seq: int
    event_id: str
    user: Id
    item: Id
    kind: str
    value: float
    ts: int
    request_id: str | None


class Change(NamedTuple):
    """A change of what is served. seq: in the same sequence as events, 0 before it has one.

    kind: "item" (PUT, PATCH and DELETE of an item), "erase" (a user), "experiment",
    "activate" (a generation of a model).
    """

    seq: int
    kind: str
    body: Mapping[str, Any]


Record = Event | Change


class EventColumns(NamedTuple):
    """Events in the order of the log: the fields that lists are made from."""

    seqs: Sequence[int] = ()
    users: Sequence[Id] = ()
    items: Sequence[Id] = ()
    values: Sequence[float] = ()
    times: Sequence[int] = ()

    def part(self, begin: int, end: int | None = None) -> EventColumns:
        if begin == 0 and end is None:
            return self
        columns: list[Any] = [column[begin:end] for column in self]
        return EventColumns(*columns)


class News(NamedTuple):
    """The records of the log after a seq: events, and changes among them; both ascend by seq."""

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
    """A list that was shown to a user of an experiment. items: JSON ids in order."""

    request_id: str
    experiment: str
    arm: str
    user: Id
    items: list[Id]
    ts: int


class Outcome(NamedTuple):
    """A user in an experiment: lists that they were shown, and how many of them they acted on."""

    arm: str
    user: Id
    lists: int
    successes: int


class Appended(NamedTuple):
    """The outcome of appending a client's events. seq: the log's last one when they were in it."""

    accepted: int
    duplicates: int
    seq: int


class Erased(NamedTuple):
    """How much was erased of a user. seq: of the record of it."""

    events: int
    exposures: int
    seq: int


# -- what is written


class EventRow(NamedTuple):
    """An event for the tables. key: hash of event_id, by which the log knows it also after its
    erasure; user_key: hash of user; ids as JSON text."""

    key: bytes
    user_key: int
    user: str
    item: str
    event: NewEvent


class Batch(NamedTuple):
    """What one transaction writes: calls of clients, and at the end a user to erase.

    exposures: rows of `exposure_row`. forget: the records of erasures up to this seq go, for
    they name whom they erased.
    """

    events: Sequence[Sequence[EventRow]] = ()
    changes: Sequence[Sequence[Change]] = ()
    exposures: Sequence[Row] = ()
    erase: Id | None = None
    forget: int | None = None

    @property
    def has_only_events(self) -> bool:
        return not self.changes and not self.exposures and self.erase is self.forget is None

    def distinct_events(self) -> dict[bytes, EventRow]:
        """The first event of each key, in order."""
        distinct: dict[bytes, EventRow] = {}
        for rows in self.events:
            for row in rows:
                distinct.setdefault(row.key, row)
        return distinct

    def erasure(self) -> list[Change]:
        return [] if self.erase is None else [new_change("erase", {"user": self.erase})]

    def placed(self, seq: int, fresh: set[bytes], erased: tuple[int, int] = (0, 0)) -> Written:
        """What became of each call, and the new records.

        seq: the last one before. fresh: keys of the events that the log did not have; the first
        event of a key takes it. erased: counts of events and exposures.
        """
        appended: list[Appended] = []
        changed: list[int] = []
        records: list[Record] = []
        for rows in self.events:
            before = seq
            for row in rows:
                if row.key in fresh:
                    fresh.remove(row.key)
                    seq += 1
                    records.append(Event(seq, *row.event))
            appended.append(Appended(seq - before, len(rows) - (seq - before), seq))
        for changes in (*self.changes, self.erasure()):
            records += [one._replace(seq=seq + at) for at, one in enumerate(changes, 1)]
            seq += len(changes)
            changed.append(seq)
        return Written(appended, changed, Erased(*erased, seq), records, seq)


class Written(NamedTuple):
    """What became of each call of a batch, the new records in order, and the last seq.

    erased: what it says counts only where a user was to be erased.
    """

    appended: list[Appended]
    changed: list[int]
    erased: Erased
    records: list[Record]
    last_seq: int


encode_json = json.JSONEncoder(allow_nan=False).encode


def event_rows(events: Sequence[NewEvent], salt: bytes) -> list[EventRow]:
    """A client's events as rows; a DataError names the first that no log can take."""
    rows = []
    for at, event in enumerate(events):
        try:
            for text in (event.event_id, event.kind, event.request_id or ""):
                text.isascii() or text.encode()
            if not math.isfinite(event.value):
                raise ValueError(f"value {event.value} is not finite")
            if not -(2**63) <= event.ts < 2**63:
                raise ValueError(f"ts {quoted(event.ts)} is out of range")
            user, item = user_columns(event.user, salt), id_text(event.item)
        except UnicodeEncodeError:
            raise DataError(f"event {at}: its text has half a surrogate pair.") from None
        except ValueError as error:
            raise DataError(f"event {at}: {error}.") from None
        key = blake2b(event.event_id.encode(), digest_size=16, key=salt).digest()
        rows.append(EventRow(key, *user, item, event))
    return rows


def exposure_row(exposure: Exposure, salt: bytes) -> Row:
    """An exposure in the order of its table's columns; a DataError where no log can take it."""
    request_id, experiment, arm, user, items, ts = exposure
    try:
        for text in (request_id, experiment, arm):
            text.encode()
        whose, shown = user_columns(user, salt), ",".join(map(id_text, items))
    except ValueError as error:
        raise DataError(f"the exposure {quoted(request_id)}: {error}.") from None
    return request_id, experiment, arm, *whose, f"[{shown}]", ts


def new_change(kind: str, body: Mapping[str, Any]) -> Change:
    """A change without a seq, as it comes out of JSON; a DataError where the body is not JSON."""
    try:
        return Change(0, kind, json.loads(encode_json(dict(body))))
    except (TypeError, ValueError) as error:
        raise DataError(f"the change of {kind!r} is not JSON: {error}.") from None


def id_text(value: Id) -> str:
    """An id as canonical JSON.

    >>> id_text("a\\0"), id_text(1), id_text("1")
    ('"a\\\\u0000"', '1', '"1"')
    """
    if type(value) not in (str, int, float, bool):
        raise ValueError(f"{quoted(value)} is no id that JSON has: text or a number")
    return encode_json(value + 0.0 if type(value) is float else value)


def user_columns(user: Id, salt: bytes) -> tuple[int, str]:
    """What the log finds a user's rows by: user_key, a hash, and user_id, JSON text."""
    text = id_text(user)
    digest = blake2b(text.encode(), digest_size=8, key=salt).digest()
    return int.from_bytes(digest, "little", signed=True), text


# -- what is read


def ids_of(texts: Sequence[str]) -> list[Any]:
    """The ids that these texts mean: one call of the parser for all."""
    ids: list[Any] = json.loads(f"[{','.join(texts)}]")
    return ids


def as_records(rows: Sequence[Row], original: Callable[[Any], Any]) -> list[Record]:
    """Rows of an event's fields and a change's body, one of which is None.

    original: gives the text that a database keeps in its own way.
    """
    events = [row for row in rows if row[-1] is None]
    made: Iterator[Event] = iter(())
    if events:
        seqs, names, users, items, kinds, values, times, requests, _ = zip(*events, strict=True)
        made = map(
            Event._make,
            zip(
                *(seqs, map(original, names), ids_of(users), ids_of(items)),
                *(map(original, kinds), values, times, map(original, requests)),
                strict=True,
            ),
        )
    if len(events) == len(rows):
        return list(made)
    return [
        next(made) if row[-1] is None else Change(row[0], row[4], json.loads(row[-1]))
        for row in rows
    ]


def as_news(texts: Sequence[str | None], changes: str | None, limit: int) -> News:
    """News of at most `limit` events and changes. texts: as `columns_of` takes them; changes: JSON
    rows of seq, kind and the body as JSON text."""
    events = EventColumns() if texts[0] is None else columns_of(texts)
    made = [Change(seq, kind, json.loads(body)) for seq, kind, body in json.loads(changes or "[]")]
    made.sort(key=lambda change: change.seq)
    ends = [events.seqs[-1]] if len(events.seqs) == limit else []
    ends += [made[-1].seq] if len(made) == limit else []
    if not ends:
        return News(events, made)
    last = min(ends)  # above it something may be left out
    known = events.part(0, bisect_right(events.seqs, last))
    return News(known, [change for change in made if change.seq <= last])


def columns_of(texts: Sequence[str | None]) -> EventColumns:
    """Events from their columns, each the inside of a JSON array.

    >>> columns_of(["2,1", '"bob","ann"', "7,8", "0.5,1.0", "0,0"]).users
    ('ann', 'bob')
    """
    columns = json.loads("[[" + "],[".join(map(str, texts)) + "]]")
    if columns[0] != sorted(columns[0]):  # no database promises an order of what it puts together
        columns = zip(*sorted(zip(*columns, strict=True)), strict=True)
    return EventColumns(*columns)
