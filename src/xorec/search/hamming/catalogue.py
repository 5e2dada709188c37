"""Catalogue: all items of an index, and which way a search among them goes.

Short lists of candidates and very long answers go around the strategies; the answers of several
segments are put together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import NO_OFFSETS, CodeRows, Offsets, Words
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.search.batches import (
    LONG_LIST,
    Nearest,
    Numbers,
    empty_nearest,
    map_parts,
    numbers_of,
)
from xorec.search.checks import check_choice, check_lists, check_rows
from xorec.search.filters import ALLOW_ALL, Filters, Mask, Rows
from xorec.search.hamming.arrays import ItemCodes, RowFilter
from xorec.search.hamming.list_kernels import nearest_of_lists, rank_all
from xorec.search.hamming.segment import Segment, scan_cost
from xorec.search.hamming.strategies import SearchedSegment
from xorec.search.hits import Exclude

_LISTED = 4.0
"""Nanoseconds for an item of a list, about."""
_PIECE = 64
"""Queries of one call, at most."""
_POSITION, _DISTANCE = np.uint64(0xFFFFFFFF), np.uint64(32)


@dataclass(frozen=True, eq=False)
class ItemFilter:
    """The items that may be shown, ready for many searches: `HammingIndex.item_filter`.

    allow_mask (m,): by tie rank. rows: ascending.
    """

    allow_mask: Mask
    rows: Rows


@dataclass(frozen=True, eq=False)
class Catalogue:
    """rows: the codes by row; item_at (m,): the row at each tie rank.

    segments: each has some of the items. removed (m,): rows that are never shown. offsets (m,): of
    the items, by row; empty where there are none.
    """

    rows: CodeRows
    tie_rank: TieRank
    item_at: Rows
    segments: tuple[SearchedSegment, ...]
    removed: npt.NDArray[np.bool_]
    offsets: Offsets = field(default_factory=lambda: NO_OFFSETS)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return self.segments[0].segment.bits

    @property
    def most(self) -> int:
        """The largest offset."""
        if not self.segments:  # nothing is built yet
            return int(self.offsets.max(initial=0))
        return self.segments[0].segment.most

    @property
    def masked(self) -> bool:
        """Whether only the set bits of a query count."""
        return bool(self.segments[0].segment.planes.masked)

    @cached_property
    def allow_mask(self) -> Mask:
        """By tie rank; empty where nothing was removed."""
        if not self.removed.any():
            return ALLOW_ALL
        allow_mask: Mask = (~self.removed)[self.item_at].astype(np.uint8)
        return allow_mask

    def item_filter(self, items: npt.NDArray[Any]) -> ItemFilter:
        """A choice of items (rows, or one bool for each row) without those removed."""
        rows = np.unique(check_choice(items, len(self)))
        rows = rows[~self.removed[rows]]
        allow_mask = np.zeros(len(self), dtype=np.uint8)
        allow_mask[self.tie_rank[rows]] = 1
        return ItemFilter(allow_mask, rows.astype(np.int32))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """The nearest that filters.allow_mask (by tie rank) lets through."""
        if k > LONG_LIST:
            return self._rank_all(queries, k, filters, pool)
        if len(self.segments) == 1:
            return self.segments[0].nearest(queries, k, filters, pool)
        return self._merge(queries, k, filters, pool)

    def nearest_of(
        self, chosen: ItemFilter, queries: Words, k: int, filters: Filters, pool: ThreadPool
    ) -> Nearest:
        """A short choice is a list to go through; a long one masks what the search finds."""
        if len(chosen.rows) * _LISTED >= scan_cost(len(self), self.bits):
            return self.nearest(queries, k, filters._replace(allow_mask=chosen.allow_mask), pool)
        spans = np.tile(np.array([0, len(chosen.rows)]), (len(queries), 1))
        return self._in_lists(spans, chosen.rows, queries, k, filters, pool)

    def nearest_of_lists(
        self, allow: Exclude, queries: Words, k: int, filters: Filters, pool: ThreadPool
    ) -> Nearest:
        """Each query among the rows of its own list."""
        indptr, rows = check_lists(allow, len(queries), "allow")
        check_rows(rows, len(self), "allow")
        if self.removed.any():
            keep = ~self.removed[rows]
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
            rows = rows[keep]
        spans = np.stack([indptr[:-1], indptr[1:]], axis=1)
        return self._in_lists(spans, rows, queries, k, filters, pool)

    def _in_lists(
        self,
        spans: Numbers,
        rows: Rows,
        queries: Words,
        k: int,
        filters: Filters,
        pool: ThreadPool,
    ) -> Nearest:
        """Query b chooses among rows[spans[b, 0]:spans[b, 1]]."""
        nearest, items = empty_nearest(len(queries), k), self._items

        def work(part: Numbers) -> None:
            nearest_of_lists(items, queries, part, (spans, rows), filters, nearest)

        map_parts(pool, numbers_of(len(queries)), _PIECE, work)
        return nearest

    def _rank_all(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """For any k, by counting the distances of all items."""
        nearest, items = empty_nearest(len(queries), k), self._items

        def work(b: int) -> None:
            distances = np.empty(len(self), dtype=np.uint16)
            checks = RowFilter(self.item_at, filters.allow_mask, filters.of(b), filters.denied)
            keys = nearest.keys[b]
            nearest.counts[b] = rank_all(items, queries[b], self.bits, checks, distances, keys)

        pool.map(len(queries), work)
        return nearest

    def _merge(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """The answers of all segments, put together."""
        parts, total = [], np.zeros(len(queries), dtype=np.int64)
        for one in self.segments:
            rank, local = self.within_segment(one.segment, filters)
            keys, counts = one.nearest(queries, min(k, len(one.segment)), local, pool)
            behind = np.arange(keys.shape[1]) >= counts[:, None]
            keys[behind] = 0
            keys = by_tie_rank(keys, rank)
            keys[behind] = np.uint64(0xFFFFFFFFFFFFFFFF)
            parts.append(keys)
            total += counts
        merged = np.sort(np.concatenate(parts, axis=1), axis=1)[:, :k]
        return Nearest(merged, np.minimum(total, merged.shape[1]))

    def within_segment(self, segment: Segment, filters: Filters) -> tuple[TieRank, Filters]:
        """(the tie rank at each position of a segment, filters with a mask by these positions)."""
        rank = self.tie_rank[segment.order.rows]
        if not len(filters.allow_mask):
            return rank, filters
        return rank, filters._replace(allow_mask=filters.allow_mask[rank])

    @property
    def _items(self) -> ItemCodes:
        return ItemCodes(self.rows.words, self.tie_rank, self.masked, self.offsets, self.most)


def by_tie_rank(keys: Words, rank: npt.NDArray[np.int32]) -> Words:
    """Keys of a segment's positions as keys of tie ranks."""
    positions = (keys & _POSITION).astype(np.int64)
    return (keys >> _DISTANCE << _DISTANCE) | rank[positions].astype(np.uint64)
