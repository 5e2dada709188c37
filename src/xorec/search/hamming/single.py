"""The short way for one query: a call through all checks costs as much as the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, words_for
from xorec.core.threads import ThreadPool
from xorec.search.batches import LONG_LIST
from xorec.search.checks import check_lists
from xorec.search.filters import NO_ROWS, Filters, Mask, Rows
from xorec.search.hamming.catalogue import Catalogue, by_tie_rank
from xorec.search.hamming.strategy import SearchStrategy
from xorec.search.hits import Exclude, Hits


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
    positions = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    distances = (keys >> np.uint64(32)).astype(np.int32) - np.int32(most)
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
