"""Catalogue: all items of an index, and the choice of a way to search them.

Short lists of candidates and very long answers go around the strategies; the answers of several
segments are put together. For one query there is a short way: a call through all checks costs as
much as the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import NO_OFFSETS, CodeRows, Offsets, Words, words_for
from xorec.core.threads import ThreadPool, lazy_property
from xorec.data.tie_rank import TieRank
from xorec.search.filters import (
    ALLOW_ALL,
    NO_ROWS,
    Filters,
    ItemChoice,
    Mask,
    Rows,
    check_choice,
    check_lists,
    check_rows,
)
from xorec.search.hamming.list_kernels import nearest_of_lists, rank_all
from xorec.search.hamming.segment import ItemCodes, RowFilter, Segment, scan_cost
from xorec.search.hamming.strategies import SearchedSegment
from xorec.search.hamming.strategy import SearchStrategy
from xorec.search.hits import (
    LONG_LIST,
    Exclude,
    Hits,
    Nearest,
    Numbers,
    empty_nearest,
    map_parts,
    numbers_of,
)
from xorec.search.top_k import POSITION, WORST

_LISTED = 4.0
"""Nanoseconds for an item of a list, about."""
_PIECE = 64
"""Queries of one call, at most."""
_DISTANCE = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """rows: the codes by row; item_at (m,): the row at each tie rank.

    removed (m,): rows that are never shown. build: gives the segments, each of which has some of
    the items, when they are first needed. masked: whether only the set bits of a query count.
    offsets (m,): of the items, by row; empty where there are none.
    """

    rows: CodeRows
    tie_rank: TieRank
    item_at: Rows
    removed: npt.NDArray[np.bool_]
    build: Callable[[], tuple[SearchedSegment, ...]]
    masked: bool = False
    offsets: Offsets = field(default_factory=lambda: NO_OFFSETS)

    def __len__(self) -> int:
        return len(self.rows)

    @lazy_property
    def segments(self) -> tuple[SearchedSegment, ...]:
        """What is searched."""
        return self.build()

    def is_built(self) -> bool:
        """Whether planes and tables are there."""
        return "segments" in vars(self)

    @cached_property
    def most(self) -> int:
        """The largest offset."""
        return int(self.offsets.max(initial=0))

    @cached_property
    def allow_mask(self) -> Mask:
        """By tie rank; empty where nothing was removed."""
        if not self.removed.any():
            return ALLOW_ALL
        allow_mask: Mask = (~self.removed)[self.item_at].astype(np.uint8)
        return allow_mask

    def item_filter(self, items: npt.NDArray[Any]) -> ItemChoice:
        """A choice of items (rows, or one bool for each row) without those removed."""
        rows = np.unique(check_choice(items, len(self)))
        rows = rows[~self.removed[rows]]
        allow_mask = np.zeros(len(self), dtype=np.uint8)
        allow_mask[self.tie_rank[rows]] = 1
        return ItemChoice(allow_mask, rows.astype(np.int32))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """The nearest that filters.allow_mask (by tie rank) lets through."""
        if k > LONG_LIST:
            return self._rank_all(queries, k, filters, pool)
        if len(self.segments) == 1:
            return self.segments[0].nearest(queries, k, filters, pool)
        return self._merge(queries, k, filters, pool)

    def nearest_of(
        self, chosen: ItemChoice, queries: Words, k: int, filters: Filters, pool: ThreadPool
    ) -> Nearest:
        """A short choice is a list to go through; a long one masks what the search finds."""
        if len(chosen.rows) * _LISTED >= scan_cost(len(self), self.rows.bits):
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
        self, spans: Numbers, rows: Rows, queries: Words, k: int, filters: Filters, pool: ThreadPool
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
            nearest.counts[b] = rank_all(items, queries[b], self.rows.bits, checks, distances, keys)

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
            keys[behind] = WORST
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
    positions = (keys & POSITION).astype(np.int64)
    return (keys >> _DISTANCE << _DISTANCE) | rank[positions].astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Within:
    """All items within a distance of each query, nearest first, then by tie rank.

    Those of query b are items[indptr[b]:indptr[b + 1]], with their distances.
    """

    indptr: npt.NDArray[np.int64]
    items: Rows
    distances: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, b: int) -> tuple[Rows, npt.NDArray[np.int32]]:
        """Items and distances of query b."""
        span = slice(self.indptr[b], self.indptr[b + 1])
        return self.items[span], self.distances[span]

    def __iter__(self) -> Iterator[tuple[Rows, npt.NDArray[np.int32]]]:
        return (self.row(b) for b in range(len(self)))


def within(
    catalogue: Catalogue, queries: Words, radius: int, filters: Filters, pool: ThreadPool
) -> Within:
    """All within `radius`, offsets off. filters.allow_mask is by tie rank."""
    most = catalogue.most
    found: list[Words] = [np.zeros(0, dtype=np.uint64)] * len(queries)
    searched = [
        (one.strategies[0], *catalogue.within_segment(one.segment, filters))
        for one in catalogue.segments
    ]

    def work(b: int) -> None:
        parts = [
            by_tie_rank(strategy.within(queries[b], radius + most, local, b), rank)
            for strategy, rank, local in searched
        ]
        found[b] = np.unique(np.concatenate(parts))  # tables may find an item more than once

    pool.map(len(queries), work)
    keys = np.concatenate([np.zeros(0, dtype=np.uint64), *found])
    indptr = np.concatenate([[0], np.cumsum([len(keys) for keys in found], dtype=np.int64)])
    positions = (keys & POSITION).astype(np.int64)
    distances = (keys >> _DISTANCE).astype(np.int32) - np.int32(most)
    return Within(indptr.astype(np.int64), catalogue.item_at[positions], distances)


_WORD = np.dtype(np.uint64)


class SingleQuery:
    """The strategy of an index of one segment, made ready for queries that come one by one."""

    def __init__(self, strategy: SearchStrategy, allow_mask: Mask) -> None:
        segment = strategy.segment
        self._find = strategy.find_one(allow_mask)
        self._shape = (1, words_for(segment.bits))
        self._most = min(LONG_LIST, len(segment))
        self._behind = segment.bits % 64

    def search(self, query: Any, k: Any, exclude: Exclude | None) -> Hits | None:
        """The hits of one well-formed query (1, W); None: take the long way."""
        if not self.takes(query, k):
            return None
        excluded = NO_ROWS
        if exclude is not None:
            indptr, rows = check_lists(exclude, 1, "exclude")
            excluded = rows[indptr[0] : indptr[1]]
        return self.nearest(query, k, excluded)

    def takes(self, query: Any, k: Any) -> bool:
        """Whether a query is well formed, and k not too large for the short way."""
        return not (
            not isinstance(query, np.ndarray)
            or query.dtype != _WORD
            or query.shape != self._shape
            or not query.flags.carray
            or (self._behind and int(query[0, -1]) >> self._behind)
            or type(k) is not int
            or not 0 < k <= self._most
        )

    def nearest(self, query: Words, k: int, excluded: Rows) -> Hits:
        """The hits of a query that it takes; excluded: rows, checked and ascending."""
        shape = (1, k)
        items, distances = np.empty(shape, np.int32), np.empty(shape, np.int32)
        scores, counts = np.empty(shape, np.float32), np.zeros(1, np.int64)
        self._find(query, excluded, counts, (items, scores, distances))
        return Hits(items, scores, counts, distances)
