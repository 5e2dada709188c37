"""Pairs out of the log: what users took, for learning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing

import numpy as np

from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.recommender.state import RecommenderState
from xorec.service.events.location import LogLocation
from xorec.service.events.records import Event, Id
from xorec.service.ids import from_json


def positive_events(log: LogLocation, after: int, until: int) -> list[Event]:
    """Events of the log that teach something, after one place and up to another, in order."""
    found: list[Event] = []
    with closing(log.open_reader()) as reader:
        for records in reader.blocks(after):
            events = (one for one in records if isinstance(one, Event) and one.seq <= until)
            found += [event for event in events if event.value > 0]
            if records[-1].seq >= until:
                break
    return found


def erased_users(log: LogLocation, after: int = 0) -> list[Id]:
    """Users that were erased after a place of the log."""
    with closing(log.open_reader()) as reader:
        return [change.body["user"] for change in reader.changes("erase", after)]


def as_pairs(state: RecommenderState, events: Sequence[Event]) -> Interactions:
    """The events as interactions, with ids of the types that the model has."""
    users, user_rows = _coded(state.user_ids, [event.user for event in events], "user")
    items, item_rows = _coded(state.item_ids, [event.item for event in events], "item")
    return Interactions.from_rows(users, items, user_rows, item_rows)


def _coded(known: Ids, given: Sequence[Id], what: str) -> tuple[Ids, np.ndarray]:
    """The distinct raw ids in the order of their first event, and the row of each event."""
    rows: dict[Id, int] = {}
    places = [rows.setdefault(one, len(rows)) for one in given]
    return _ids_of(known, (from_json(known, one, what) for one in rows)), np.array(places)


def _ids_of(known: Ids, raw: Iterable[Id]) -> Ids:
    values = list(raw)
    if known.kind == "int64":
        return Ids("int64", np.array(values, dtype=np.int64))
    made = Ids.of(values)
    return made if made.kind == known.kind else Ids.of([known.parse(str(v)) for v in values])
