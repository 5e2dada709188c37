"""Radius search: every item within a distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Rows
from xorec.search.hamming.catalogue import Catalogue, by_tie_rank


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
