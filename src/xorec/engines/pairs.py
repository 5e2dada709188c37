"""From blocks of read rows to `Interactions` on any engine, equal to what one machine would read.

Rows are coded, brought together by ranges of users, sorted and merged there; they keep their order
on the way, so of equal pairs the same one stays as on one machine. `prepare` runs where the pairs
lie: blocks count, the driver decides which users and items stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Blocks, Engine
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.base import Source
from xorec.data.io.columns import Columns
from xorec.data.io.encode import (
    Weighing,
    pair_strengths,
    parts_from,
    reading_notes,
    weights_and_note,
)
from xorec.data.io.id_encoder import GrowingArray
from xorec.data.io.values import note_of_values, time_note
from xorec.data.merge import merge_pairs
from xorec.data.prepare import (
    Mask,
    PairCounts,
    below_rating,
    check_filters,
    no_ratings,
    none_rated,
    with_enough_pairs,
)
from xorec.engines.row_ids import CodedIds, collect_ids, rows_of_ids


@dataclass(frozen=True)
class PairFilters:
    """The thresholds of `data.prepare.prepare`."""

    min_rating: float | None = None
    min_user_pairs: int = 0
    min_item_pairs: int = 0
    core: int = 0

    def __post_init__(self) -> None:
        check_filters(**vars(self))

    @property
    def any(self) -> bool:
        """Whether there is anything to do."""
        counts = max(self.min_user_pairs, self.min_item_pairs, self.core) > 1
        return counts or self.min_rating is not None


def filter_pairs(
    engine: Engine, blocks: Blocks, sizes: tuple[int, int], filters: PairFilters, *, rated: bool
) -> tuple[Arrays, tuple[str, ...]]:
    """Which users and items stay, for the blocks, and notes of what goes.

    sizes: users, items; rated: there are ratings.
    """
    least_rating, notes = filters.min_rating, list[str]()
    count = partial(_count, engine, blocks)
    users, items = (np.ones(size, dtype=np.bool_) for size in sizes)
    counts = count(None, users, items)
    if least_rating is not None:
        if not rated:
            raise no_ratings(least_rating)
        left = count(least_rating, users, items)
        if not left.users.any():
            values, _ = rating_values(engine, blocks)
            raise none_rated(least_rating, values[0], values[-1])
        notes.append(counts.removed_note(below_rating(least_rating), left))
        counts = left
    once = (filters.min_user_pairs, filters.min_item_pairs)
    for least, repeat in ((once, False), ((filters.core, filters.core), True)):
        if max(least) > 1:
            stay = with_enough_pairs(counts, least, partial(count, least_rating), repeat=repeat)
            if not stay.left.users.any():
                raise counts.nothing_left(stay.what)
            notes.append(counts.removed_note(stay.what, stay.left))
            users, items, counts = stay.users, stay.items, stay.left
    return {"users_stay": users, "items_stay": items}, tuple(notes)


def _count(
    engine: Engine, blocks: Blocks, min_rating: float | None, users_stay: Mask, items_stay: Mask
) -> PairCounts:
    """Pairs of each user and of each item among those that stay."""
    users = np.zeros(len(users_stay), dtype=np.int64)
    items = np.zeros(len(items_stay), dtype=np.int64)
    shared: Arrays = {"users_stay": users_stay, "items_stay": items_stay}
    for block in engine.map_blocks(count_block, blocks, [shared], min_rating=min_rating):
        first = int(block["first"][0])
        users[first : first + len(block["users"])] = block["users"]
        items[block["items"]] += block["counts"]
    return PairCounts(users, items)


def count_block(block: Arrays, shared: Arrays, min_rating: float | None) -> Arrays:
    """The pairs that stay in a block: of each of its users, and of each item that has any."""
    keep, users = pairs_that_stay(block, shared, min_rating)
    items = np.bincount(block["indices"][keep])
    present = np.flatnonzero(items)
    counts = items[present].astype(np.int32)
    return {
        "first": block["first"],
        "users": users,
        "items": present.astype(np.int32),
        "counts": counts,
    }


def pairs_that_stay(
    block: Arrays, shared: Arrays, min_rating: float | None
) -> tuple[Mask, npt.NDArray[np.int64]]:
    """Which pairs of a block stay, and how many of each of its users."""
    first, counts = int(block["first"][0]), block["counts"]
    users_stay = shared["users_stay"][first : first + len(counts)]
    keep = np.repeat(users_stay, counts) & shared["items_stay"][block["indices"]]
    if min_rating is not None:
        keep &= block["rating"] >= np.float32(min_rating)
    ends = np.concatenate([[0], np.cumsum(keep)])[np.cumsum(counts)]
    return keep, np.diff(ends, prepend=0)


def rating_values(
    engine: Engine, blocks: Blocks
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """The distinct ratings of all pairs, ascending, and how often each comes."""
    found = list(engine.map_blocks(block_ratings, blocks))
    every = np.concatenate([block["values"] for block in found])
    values, places = np.unique(every, return_inverse=True)
    counts = np.zeros(len(values), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([block["counts"] for block in found]))
    return values, counts


def block_ratings(block: Arrays, shared: Arrays) -> Arrays:
    """The distinct ratings of a block."""
    values, counts = np.unique(block["rating"], return_counts=True)
    return {"values": values, "counts": counts}


BESIDE = ("rating", "weight", "time", "split")
"""Roles of what stands beside the ids."""


def merged_blocks(
    engine: Engine, rows: Blocks, ids: Mapping[str, CodedIds], into: int, *, by_repeats: bool
) -> Blocks:
    """The distinct pairs of each range of users; `into` ranges.

    A block has: first (its first user), counts (pairs of each user), indices (their items,
    ascending), time, rating, split, strength where there are any, and tally (repeats, moved).
    """
    n_users, n_items = len(ids["user"].ids), len(ids["item"].ids)
    arrays = dict(ids["user"].arrays) | dict(ids["item"].arrays)
    arrays["first_users"] = np.array([n_users * at // into for at in range(into + 1)])
    pairs = engine.exchange(send_pairs, rows, into, [arrays])
    try:
        return engine.transform(merge_block, pairs, n_items=n_items, by_repeats=by_repeats)
    finally:
        engine.release(pairs)


def send_pairs(block: Arrays, shared: Arrays) -> Iterator[tuple[int, Arrays]]:
    """The rows of a block, coded, each to the range of its user, in their order."""
    first_users = shared["first_users"]
    users = rows_of_ids("user", block, shared)[block["user"]]
    items = rows_of_ids("item", block, shared)[block["item"]]
    target_of = np.searchsorted(first_users, users, side="right") - 1
    order = np.argsort(target_of, kind="stable")
    cuts = np.searchsorted(target_of[order], np.arange(len(first_users)))
    for target in range(len(first_users) - 1):
        own = order[cuts[target] : cuts[target + 1]]
        part: dict[str, npt.NDArray[Any]] = {
            "range": first_users[target : target + 2],
            "user": (users[own] - first_users[target]).astype(np.int32),
            "item": items[own],
        }
        yield target, part | {role: block[role][own] for role in BESIDE if role in block}


def merge_block(block: Arrays, shared: Arrays, n_items: int, by_repeats: bool) -> Arrays:
    """The pairs of one range of users, each once."""
    first, end = block["range"][:2].tolist()
    arrays = dict(block)
    if by_repeats:
        arrays["weight"] = np.ones(len(block["user"]))
    shape = (end - first, n_items)
    merged = merge_pairs(block["user"], block["item"], shape, block.get("time"), block.get("split"))
    made: dict[str, npt.NDArray[Any]] = {
        "first": np.array([first]),
        "counts": np.diff(merged.indptr).astype(np.int32),
        "indices": merged.indices,
        "tally": np.array([merged.repeats, merged.moved]),
    }
    strengths = pair_strengths(arrays, merged, n_items)
    if strengths is not None:
        made["strength"] = strengths
    kept = {role: block[role][merged.order] for role in BESIDE if role in block}
    return made | {role: array for role, array in kept.items() if role != "weight"}


BLOCK_ROWS = 1 << 20
"""Rows that are read into one block, and about as many pairs in a range of users."""
_MOST_RANGES = 512
_FIELDS = {"time": "times", "rating": "ratings", "split": "parts"}


@dataclass(frozen=True)
class ReadRows:
    """Blocks of read rows, numbered in the order of the data. total: rows; blank: lines."""

    blocks: Blocks
    total: int
    blank: int
    source: Source
    columns: Columns


def to_interactions(
    engine: Engine,
    rows: ReadRows,
    weighing: Weighing,
    filters: PairFilters,
    describe: Callable[[Interactions], Interactions] = lambda data: data,
    *,
    block_rows: int = BLOCK_ROWS,
) -> Interactions:
    """What `xorec.read` and `prepare` make of these rows; the driver gets the pairs that stay.

    describe: adds what is known of items, before some of them go.
    """
    into = max(1, min(_MOST_RANGES, -(-rows.total // block_rows)))
    ids = collect_ids(engine, rows.blocks, into, rows.source, rows.columns)
    blocks = merged_blocks(engine, rows.blocks, ids, into, by_repeats=weighing.by_repeats)
    users, items = ids["user"].ids, ids["item"].ids
    try:
        found = _gather(engine.map_blocks(block_facts if filters.any else all_pairs, blocks), users)
        weights, notes = _weights_and_notes(rows, weighing, found)
        if rows.columns.rating is not None and filters.min_rating is None:
            on_driver = "rating" in found
            every = np.unique(found["rating"], return_counts=True) if on_driver else None
            notes.append(note_of_values(*(every or rating_values(engine, blocks))))
        notes.append(time_note(found.get("time", found.get("time_span")), rows.columns.time))
        removed: tuple[str, ...] = ()
        if filters.any:
            sizes, rated = (len(users), len(items)), rows.columns.rating is not None
            stay, removed = filter_pairs(engine, blocks, sizes, filters, rated=rated)
            kept = engine.map_blocks(kept_pairs, blocks, [stay], min_rating=filters.min_rating)
            found = _gather(kept, users)
            weights = None if weights is None else weights[found["stay"]]
    finally:
        engine.release(blocks)
    data = describe(
        Interactions(
            users,
            items,
            indptr=found["indptr"],
            indices=found["indices"],
            weights=weights,
            **{field: found.get(role) for role, field in _FIELDS.items()},
            notes=tuple(filter(None, notes)),
            parts_from=parts_from(rows.source, rows.columns),
        )
    )
    return data.noted(*removed).compact() if filters.any else data


def _gather(found: Iterator[Arrays], users: Ids) -> dict[str, Any]:
    """The arrays of all blocks end to end, `indptr` of the users, and the sum of their tallies."""
    indptr = np.zeros(len(users) + 1, dtype=np.int64)
    gathered: dict[str, GrowingArray] = {}
    tally = np.zeros(2, dtype=np.int64)
    for block in found:
        if "counts" in block:
            first = int(block["first"][0]) + 1
            indptr[first : first + len(block["counts"])] = block["counts"]
        tally += block.get("tally", 0)
        for name, array in block.items():
            if name not in ("first", "counts", "tally"):
                gathered.setdefault(name, GrowingArray(array.dtype)).extend(array)
    np.cumsum(indptr, out=indptr)
    arrays: dict[str, Any] = {name: array.finish() for name, array in gathered.items()}
    return {**arrays, "indptr": indptr, "tally": tally}


def _weights_and_notes(
    rows: ReadRows, weighing: Weighing, found: dict[str, Any]
) -> tuple[npt.NDArray[np.float32] | None, list[str | None]]:
    """The weights of all pairs, if they have any; what was guessed and merged. Takes `strength`."""
    roles = [*rows.columns.in_use(), *(["weight"] if weighing.by_repeats else [])]
    tally = found["tally"].tolist()
    notes: list[str | None] = [*reading_notes(rows.source, rows.columns, roles, rows.blank, *tally)]
    raw = found.pop("strength", None)
    if raw is None:
        return None, notes
    weights, said = weights_and_note(raw, weighing.scale)
    return weights, [*notes, said]


def block_facts(block: Arrays, shared: Arrays) -> Arrays:
    """What was merged in a block, the strengths of its pairs, their first and last time."""
    facts = {name: block[name] for name in ("tally", "strength") if name in block}
    times = block.get("time")
    if times is not None and len(times):
        facts["time_span"] = np.array([times.min(), times.max()])
    return facts


def all_pairs(block: Arrays, shared: Arrays) -> Arrays:
    """The pairs of a block, and what stands beside them."""
    return block


def kept_pairs(block: Arrays, shared: Arrays, min_rating: float | None) -> Arrays:
    """Those that stay."""
    keep, counts = pairs_that_stay(block, shared, min_rating)
    made = {name: array[keep] for name, array in block.items() if name in ("indices", *_FIELDS)}
    return {**made, "first": block["first"], "counts": counts, "stay": keep}
