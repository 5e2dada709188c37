"""The ways around the strategies: lists of candidates, very long answers, several segments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.search.batches import Nearest, Numbers, empty_nearest, map_parts, numbers_of
from xorec.search.filters import Filters, Rows
from xorec.search.hamming.arrays import ItemCodes, RowFilter
from xorec.search.hamming.segment import Segment, scan_cost
from xorec.search.hamming.strategies import SearchedSegment

_LISTED = 4.0
"""Nanoseconds for an item of a list, about."""
_PIECE = 64
"""Queries of one call, at most."""
_POSITION, _DISTANCE = np.uint64(0xFFFFFFFF), np.uint64(32)


@dataclass(frozen=True, eq=False)
class Items:
    """All items of an index: codes by row, and their order. item_at: the row at each tie rank.

    masked: only the set bits of a query count.
    """

    codes: Words
    bits: int
    tie_rank: TieRank
    item_at: Rows
    masked: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def for_kernels(self) -> ItemCodes:
        """As kernels take them."""
        return ItemCodes(self.codes, self.tie_rank, self.masked)

    def is_short(self, candidates: int) -> bool:
        """Whether going through so many candidates costs less than a scan."""
        return candidates * _LISTED < scan_cost(len(self), self.bits)


def nearest_of_lists(
    items: Items,
    queries: Words,
    k: int,
    filters: Filters,
    candidates: tuple[Numbers, Rows],
    pool: ThreadPool,
) -> Nearest:
    """candidates: (spans, rows); query b chooses among rows[spans[b, 0]:spans[b, 1]]."""
    from xorec.search.hamming.list_kernels import nearest_of_lists

    nearest, codes = empty_nearest(len(queries), k), items.for_kernels

    def work(part: Numbers) -> None:
        nearest_of_lists(codes, queries, part, candidates, filters, nearest)

    map_parts(pool, numbers_of(len(queries)), _PIECE, work)
    return nearest


def rank_all(items: Items, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
    """As `SearchStrategy.nearest` over all items, for any k: filters.allow_mask is by tie rank."""
    from xorec.search.hamming.list_kernels import rank_all

    nearest, codes = empty_nearest(len(queries), k), items.for_kernels

    def work(b: int) -> None:
        distances = np.empty(len(items), dtype=np.uint16)
        checks = RowFilter(items.item_at, filters.allow_mask, filters.of(b), filters.denied)
        keys = nearest.keys[b]
        nearest.counts[b] = rank_all(codes, queries[b], items.bits, checks, distances, keys)

    pool.map(len(queries), work)
    return nearest


def nearest_of_segments(
    items: Items,
    segments: tuple[SearchedSegment, ...],
    queries: Words,
    k: int,
    filters: Filters,
    pool: ThreadPool,
) -> Nearest:
    """The answers of all segments, put together: filters.allow_mask is by tie rank."""
    parts, total = [], np.zeros(len(queries), dtype=np.int64)
    for one in segments:
        rank, own = within_segment(items, one.segment, filters)
        keys, counts = one.nearest(queries, min(k, len(one.segment)), own, pool)
        behind = np.arange(keys.shape[1]) >= counts[:, None]
        keys[behind] = 0
        keys = by_tie_rank(keys, rank)
        keys[behind] = np.uint64(0xFFFFFFFFFFFFFFFF)
        parts.append(keys)
        total += counts
    merged = np.sort(np.concatenate(parts, axis=1), axis=1)[:, :k]
    return Nearest(merged, np.minimum(total, merged.shape[1]))


def within_segment(items: Items, segment: Segment, filters: Filters) -> tuple[TieRank, Filters]:
    """(the tie rank at each position of a segment, filters whose mask is by these positions)."""
    rank = items.tie_rank[segment.order.rows]
    if not len(filters.allow_mask):
        return rank, filters
    return rank, filters._replace(allow_mask=filters.allow_mask[rank])


def by_tie_rank(keys: Words, rank: npt.NDArray[np.int32]) -> Words:
    """Keys of a segment's positions as keys of tie ranks."""
    positions = (keys & _POSITION).astype(np.int64)
    return (keys >> _DISTANCE << _DISTANCE) | rank[positions].astype(np.uint64)
