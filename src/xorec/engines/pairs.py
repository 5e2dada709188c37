"""From blocks of read rows to `Interactions` on any engine, equal to what one machine would read.

Rows are coded, brought together by ranges of users, sorted and merged there; they keep their order
on the way, so of equal pairs the same one stays as on one machine. `prepare` runs where the pairs
lie: blocks count, the driver decides which users and items stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from xorec.data.io.values import note_of_values, rating_note, time_note
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
class Filters:
    """The thresholds of `data.prepare.prepare`."""

    min_rating: float | None = None
    min_user_pairs: int = 0
    min_item_pairs: int = 0
    core: int = 0

    def check(self) -> None:
        """Refuse what is no threshold."""
        check_filters(self.min_rating, self.min_user_pairs, self.min_item_pairs, self.core)

    @property
    def any(self) -> bool:
        """Whether there is anything to do."""
        counts = max(self.min_user_pairs, self.min_item_pairs, self.core) > 1
        return counts or self.min_rating is not None


@dataclass(frozen=True)
class Kept:
    """The pairs that stay: those of these users and items, rated at least so; and notes."""

    users: Mask
    items: Mask
    min_rating: float | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def arrays(self) -> Arrays:
        """For the blocks."""
        return {"users_stay": self.users, "items_stay": self.items}


def filter_pairs(
    engine: Engine, blocks: Blocks, sizes: tuple[int, int], filters: Filters, *, rated: bool
) -> Kept:
    """Which pairs stay. sizes: users, items; rated: there are ratings."""
    kept = Kept(np.ones(sizes[0], dtype=np.bool_), np.ones(sizes[1], dtype=np.bool_))
    counts = _count(engine, blocks, kept)
    if filters.min_rating is not None:
        if not rated:
            raise no_ratings(filters.min_rating)
        kept = replace(kept, min_rating=filters.min_rating)
        left = _count(engine, blocks, kept)
        if not left.users.any():
            raise none_rated(filters.min_rating, *rating_range(engine, blocks))
        note = counts.removed_note(below_rating(filters.min_rating), left)
        kept, counts = replace(kept, notes=(note,)), left
    once = (filters.min_user_pairs, filters.min_item_pairs)
    for least, repeat in ((once, False), ((filters.core, filters.core), True)):
        if max(least) > 1:
            kept, counts = _by_counts(engine, blocks, kept, counts, least, repeat=repeat)
    return kept


def _by_counts(
    engine: Engine,
    blocks: Blocks,
    kept: Kept,
    counts: PairCounts,
    least: tuple[int, int],
    *,
    repeat: bool,
) -> tuple[Kept, PairCounts]:
    def count(users_stay: Mask, items_stay: Mask) -> PairCounts:
        both = replace(kept, users=kept.users & users_stay, items=kept.items & items_stay)
        return _count(engine, blocks, both)

    stay = with_enough_pairs(counts, least, count, repeat=repeat)
    if not stay.left.users.any():
        raise counts.nothing_left(stay.what)
    notes = (*kept.notes, counts.removed_note(stay.what, stay.left))
    users, items = kept.users & stay.users, kept.items & stay.items
    return replace(kept, users=users, items=items, notes=notes), stay.left


def _count(engine: Engine, blocks: Blocks, kept: Kept) -> PairCounts:
    """Pairs of each user and of each item among those that stay."""
    users = np.zeros(len(kept.users), dtype=np.int64)
    items = np.zeros(len(kept.items), dtype=np.int64)
    for block in engine.map_blocks(count_block, blocks, [kept.arrays], min_rating=kept.min_rating):
        first = int(block["first"][0])
        users[first : first + len(block["users"])] = block["users"]
        items[block["items"]] += block["counts"]
    return PairCounts(users, items)


def count_block(block: Arrays, shared: Arrays, min_rating: float | None) -> Arrays:
    """The pairs that stay in a block: of each of its users, and of each item that has any."""
    keep = pairs_that_stay(block, shared, min_rating)
    ends = np.concatenate([[0], np.cumsum(keep)])[np.cumsum(block["counts"])]
    items = np.bincount(block["indices"][keep])
    present = np.flatnonzero(items)
    return {
        "first": block["first"],
        "users": np.diff(ends, prepend=0),
        "items": present.astype(np.int32),
        "counts": items[present].astype(np.int32),
    }


def pairs_that_stay(
    block: Arrays, shared: Arrays, min_rating: float | None
) -> npt.NDArray[np.bool_]:
    """Which pairs of a block stay."""
    first, counts = int(block["first"][0]), block["counts"]
    users_stay = shared["users_stay"][first : first + len(counts)]
    keep = np.repeat(users_stay, counts) & shared["items_stay"][block["indices"]]
    if min_rating is not None:
        keep &= block["rating"] >= np.float32(min_rating)
    return np.asarray(keep, dtype=np.bool_)


def rating_range(engine: Engine, blocks: Blocks) -> tuple[np.float32, np.float32]:
    """The lowest and the highest rating."""
    values, _ = rating_values(engine, blocks)
    return values[0], values[-1]


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
    filters: Filters,
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
    pairs = _MergedPairs(engine, blocks, ids["user"].ids, ids["item"].ids)
    try:
        if not filters.any:
            return describe(pairs.everything(rows, weighing))
        data, removed = pairs.filtered(rows, weighing, filters)
        return describe(data).noted(*removed).compact()
    finally:
        engine.release(blocks)


@dataclass(frozen=True)
class _MergedPairs:
    """Blocks of distinct pairs, and the ids behind their rows."""

    engine: Engine
    blocks: Blocks
    users: Ids
    items: Ids

    def everything(self, rows: ReadRows, weighing: Weighing) -> Interactions:
        """All pairs."""
        arrays = self._gather(self.engine.map_blocks(all_pairs, self.blocks))
        tally = arrays.pop("tally")
        notes = _notes(rows, weighing, tally)
        raw, ratings = arrays.pop("strength", None), arrays.get("rating")
        if raw is not None:
            arrays["weights"], said = weights_and_note(raw, weighing.scale)
            notes.append(said)
        said_of_times = time_note(arrays.get("time"), rows.columns.time)
        notes += [note for note in (rating_note(ratings), said_of_times) if note]
        return self._interactions(rows, arrays, notes)

    def filtered(
        self, rows: ReadRows, weighing: Weighing, filters: Filters
    ) -> tuple[Interactions, tuple[str, ...]]:
        """The pairs that stay, among all users and items, and notes of what was removed."""
        engine, rated = self.engine, rows.columns.rating is not None
        facts = self._gather(engine.map_blocks(block_facts, self.blocks))
        notes, raw, weights = _notes(rows, weighing, facts["tally"]), facts.get("strength"), None
        if raw is not None:
            weights, said = weights_and_note(raw, weighing.scale)
            notes.append(said)
        if rated and filters.min_rating is None:
            said_of_ratings = note_of_values(*rating_values(engine, self.blocks))
            notes += [said_of_ratings] if said_of_ratings else []
        said_of_times = time_note(facts.get("time_span"), rows.columns.time)
        notes += [said_of_times] if said_of_times else []
        sizes = (len(self.users), len(self.items))
        kept = filter_pairs(engine, self.blocks, sizes, filters, rated=rated)
        settings = {"min_rating": kept.min_rating}
        found = engine.map_blocks(kept_pairs, self.blocks, [kept.arrays], **settings)
        arrays = self._gather(found)
        stay = arrays.pop("stay")
        if weights is not None:
            arrays["weights"] = weights[stay]
        return self._interactions(rows, arrays, notes), kept.notes

    def _gather(self, found: Iterator[Arrays]) -> dict[str, Any]:
        """The arrays of all blocks end to end; those of users as `indptr`."""
        indptr = np.zeros(len(self.users) + 1, dtype=np.int64)
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

    def _interactions(
        self, rows: ReadRows, arrays: dict[str, Any], notes: list[str]
    ) -> Interactions:
        arrays.pop("tally", None)
        fields = {_FIELDS.get(name, name): array for name, array in arrays.items()}
        origin = parts_from(rows.source, rows.columns)
        return Interactions(self.users, self.items, **fields, notes=tuple(notes), parts_from=origin)


def _notes(rows: ReadRows, weighing: Weighing, tally: npt.NDArray[np.int64]) -> list[str]:
    roles = [*rows.columns.in_use(), *(["weight"] if weighing.by_repeats else [])]
    return reading_notes(rows.source, rows.columns, roles, rows.blank, *tally.tolist())


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
    keep = pairs_that_stay(block, shared, min_rating)
    ends = np.concatenate([[0], np.cumsum(keep)])[np.cumsum(block["counts"])]
    made = {name: array[keep] for name, array in block.items() if name in ("indices", *_FIELDS)}
    counts = np.diff(ends, prepend=0)
    return {**made, "first": block["first"], "counts": counts, "stay": keep}
