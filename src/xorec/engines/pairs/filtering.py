"""`prepare` where the pairs lie: blocks count, the driver decides which users and items stay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Blocks, Engine
from xorec.data.prepare import (
    Mask,
    PairCounts,
    below_rating,
    check_filters,
    no_ratings,
    none_rated,
    with_enough_pairs,
)


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
