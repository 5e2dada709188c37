"""Rows of a log as records: the same for whatever keeps them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from xorec.service.events.records import Change, Event, EventColumns, News, Record
from xorec.service.events.rows import ids_of

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
