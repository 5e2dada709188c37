"""Exact top-k of dot products by BLAS, as fast as we can make it: the float side of a benchmark.

Scores are made a block of queries and items at a time, in memory that is kept, so that they stay
near the processor; seen items are masked in the block, and the best of it are selected. Which
blocks and which use of the threads are best depends on the machine and the size, so `fastest_way`
tries all `WAYS` on some queries.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.threads import ThreadPool
from xorec.lab.bench.data import part_of
from xorec.representations.vectors import Floats
from xorec.search.hits import Exclude
from xorec.search.top_k import TieRanks, top_k_rows

Items = npt.NDArray[np.int32]

WHOLE = 1 << 62
"""Items of a block: all of them, as long as the scores of a block are few enough."""
MOST_SCORES = 6 << 20
"""Scores of a block, at most: 24 MB."""
TRIALS, TRIAL_ITEMS, TRIAL_SCORES, FEWEST = 2, 1 << 18, 1 << 26, 256
"""A trial of a way: how often, items at most, scores about, queries at least."""


@dataclass(frozen=True)
class Way:
    """Queries and items of a block, who shares the work, and how the best of a block are found.

    threads: each has a block of its own, or all are at the product of one block and then at
    the selection. select: our kernel, or NumPy's argpartition. scores: of a block, at most.
    """

    queries: int
    items: int
    threads: Literal["a block each", "one block"]
    select: Literal["kernel", "argpartition"] = "kernel"
    scores: int = MOST_SCORES

    def items_of(self, catalogue: int, queries: int | None = None) -> int:
        """Items of a block that has so many queries."""
        return max(1, min(self.items, catalogue, self.scores // (queries or self.queries)))

    def text(self, catalogue: int) -> str:
        """In words."""
        items = self.items_of(catalogue)
        width = "all items" if items == catalogue else f"{items:,} items"
        who = {"a block each": "a block for each thread", "one block": "all threads at one block"}
        by = {"kernel": "our selection kernel", "argpartition": "NumPy's argpartition"}
        blocks = f"blocks of {self.queries:,} users x {width}"
        return f"BLAS, {blocks}, {who[self.threads]}, {by[self.select]}"


WAYS = (
    Way(32, WHOLE, "a block each"),
    Way(128, WHOLE, "a block each"),
    Way(512, WHOLE, "a block each"),
    Way(256, 8_192, "a block each"),
    Way(256, 8_192, "a block each", "argpartition"),
    Way(256, 8_192, "one block"),
    Way(1_024, WHOLE, "one block"),
)
BY_NUMPY = Way(256, WHOLE, "one block", "argpartition", scores=2 << 20)
BY_KERNEL = Way(256, WHOLE, "one block", scores=2 << 20)
"""The plain ways of `xorec bench search`."""


class FloatRanking:
    """The `k` best items of each query by dot product, seen items out."""

    def __init__(self, items: Floats, k: int, threads: int, way: Way = WAYS[1]) -> None:
        from threadpoolctl import ThreadpoolController

        self.items, self.k, self.threads, self.way = items, min(k, len(items)), threads, way
        self._blas = ThreadpoolController()
        self._rank = np.arange(len(items), dtype=np.int32)
        self._alone = ThreadPool(1)
        self._memory: deque[Floats] = deque()

    def search(self, queries: Floats, exclude: Exclude | None = None) -> tuple[Items, Floats]:
        """Items and scores (B, k), best first; a score of -inf stands for no item."""
        count, size = len(queries), self.way.queries
        items = np.empty((count, self.k), dtype=np.int32)
        scores = np.empty((count, self.k), dtype=np.float32)

        def work(piece: int, pool: ThreadPool) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            seen = None if exclude is None else part_of(exclude, part.start, part.stop)
            items[part], scores[part] = self._block(queries[part], seen, pool)

        pieces = -(-count // size)
        if self.threads == 1 or count == 1:
            for piece in range(pieces):
                work(piece, self._alone)
            return items, scores
        with ThreadPool(self.threads) as pool:
            if self.way.threads == "one block":
                for piece in range(pieces):
                    work(piece, pool)
            else:
                with self._blas.limit(limits=1, user_api="blas"):
                    pool.map(pieces, lambda piece: work(piece, self._alone))
        return items, scores

    def _block(
        self, queries: Floats, seen: Exclude | None, pool: ThreadPool
    ) -> tuple[Items, Floats]:
        """The best of each block of items, and of these the best."""
        width = self.way.items_of(len(self.items), len(queries))
        size = len(queries) * width
        memory = self._memory.pop() if self._memory else np.empty(0, dtype=np.float32)
        memory = memory if len(memory) >= size else np.empty(size, dtype=np.float32)
        found = []
        for begin in range(0, len(self.items), width):
            block = self.items[begin : begin + width]
            scores = memory[: len(queries) * len(block)].reshape(len(queries), len(block))
            np.matmul(queries, block.T, out=scores)
            found.append(self._best(scores, begin, seen, pool))
        self._memory.append(memory)
        if len(found) == 1 and self.way.select == "kernel":
            return found[0]
        items = np.concatenate([part[0] for part in found], axis=1)
        scores = np.concatenate([part[1] for part in found], axis=1)
        if self.way.select == "argpartition":
            order = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
            return np.take_along_axis(items, order, axis=1), np.take_along_axis(scores, order, 1)
        places, best = self._empty(len(queries), self.k)
        self._select(scores, places, best)
        return np.take_along_axis(items, places, axis=1), best

    def _best(
        self, scores: Floats, begin: int, seen: Exclude | None, pool: ThreadPool
    ) -> tuple[Items, Floats]:
        """The best items of a block of scores, whose items begin at `begin`."""
        width = min(self.k, scores.shape[1])
        places, best = self._empty(len(scores), width)

        def work(low: int, high: int) -> None:
            rows = scores[low:high]
            if seen is not None:
                mask_seen(rows, begin, seen[0][low : high + 1], seen[1])
            if self.way.select == "kernel":
                self._select(rows, places[low:high], best[low:high])
                return
            top = np.argpartition(rows, rows.shape[1] - width, axis=1)[:, -width:]
            places[low:high], best[low:high] = top, np.take_along_axis(rows, top, axis=1)

        pool.map_ranges(len(scores), work, per_thread=1)
        places += begin
        return places, best

    def _empty(self, rows: int, width: int) -> tuple[Items, Floats]:
        return np.empty((rows, width), dtype=np.int32), np.empty((rows, width), dtype=np.float32)

    def _select(self, scores: Floats, places: Items, best: Floats) -> None:
        """The best of each row of scores, by our kernel, into `places` and `best`."""
        count, width = scores.shape
        rank = self._rank[:width] if width <= len(self._rank) else np.arange(width, dtype=np.int32)
        nothing_seen = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        counts = np.empty(count, dtype=np.int64)
        into = places, best, counts
        top_k_rows(scores, TieRanks(rank, rank), nothing_seen, into)


def fastest_way(
    items: Floats,
    queries: Floats,
    exclude: Exclude | None,
    k: int,
    threads: int,
    ways: Sequence[Way] = WAYS,
) -> Way:
    """Try all ways on some of the queries and, where there are very many, of the items."""
    items = items[:TRIAL_ITEMS]
    some = min(len(queries), max(FEWEST, TRIAL_SCORES // len(items)))
    request = queries[:some], None if exclude is None else part_of(exclude, 0, some)

    def seconds(way: Way) -> float:
        ranking, found = FloatRanking(items, k, threads, way), []
        ranking.search(*request)
        for _ in range(TRIALS):
            began = time.perf_counter()
            ranking.search(*request)
            found.append(time.perf_counter() - began)
        return min(found)

    return min(ways, key=seconds)


@kernel
def mask_seen(scores: Any, begin: int, indptr: Any, indices: Any) -> None:
    """Set the scores (B, items of a block that begins at item `begin`) of seen items to -inf.

    The seen items of row b are `indices[indptr[b]:indptr[b + 1]]`, ascending.
    """
    end = begin + scores.shape[1]
    for b in range(scores.shape[0]):
        seen = indices[indptr[b] : indptr[b + 1]]
        for at in range(np.searchsorted(seen, begin), len(seen)):
            if seen[at] >= end:
                break
            scores[b, seen[at] - begin] = -np.inf
