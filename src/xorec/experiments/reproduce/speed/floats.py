"""The float side of rq3: everybody's best items by dot products, as fast as we can make it.

Scores are made by BLAS a block of users and items at a time, in memory that is kept, so that
they stay near the processor; seen items are hidden in the block, and the best of it are selected.
Which blocks and which use of the threads are best depends on the machine and the size, so a
contest tries all `WAYS` on some users and takes the fastest.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.experiments.bench.data import part_of
from xorec.experiments.reproduce.speed.kernels import hide
from xorec.representations.vectors import Floats, Vectors
from xorec.search.hits import Exclude
from xorec.search.top_k_kernels import BestRows, TieRanks, top_k_rows

Rows = npt.NDArray[np.int32]
WHOLE = 1 << 62
"""Items of a block: all of them, as long as the scores of a block are few enough."""
MOST_SCORES = 6 << 20
"""Scores of a block, at most: 24 MB."""
TRIALS, TRIAL_ITEMS, TRIAL_SCORES, FEWEST = 2, 1 << 18, 1 << 26, 256
"""A trial of a way: how often, items at most, scores about, users at least."""


@dataclass(frozen=True)
class Way:
    """Users and items of a block, who shares the work, and how the best of a block are found.

    threads: each has a block of its own, or all are at the product of one block and then at
    the selection. select: our kernel, or NumPy's argpartition.
    """

    users: int
    items: int
    threads: Literal["a block each", "one block"]
    select: Literal["kernel", "argpartition"] = "kernel"

    def items_of(self, catalogue: int) -> int:
        """Items of a block."""
        return max(1, min(self.items, catalogue, MOST_SCORES // self.users))

    def text(self, catalogue: int) -> str:
        """In words."""
        items = self.items_of(catalogue)
        width = "all items" if items == catalogue else f"{items:,} items"
        who = {"a block each": "a block for each thread", "one block": "all threads at one block"}
        by = {"kernel": "our selection kernel", "argpartition": "NumPy's argpartition"}
        blocks = f"blocks of {self.users:,} users x {width}"
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


class FloatRanking:
    """The `k` best items of users by dot product, seen items out."""

    def __init__(self, items: Floats, k: int, threads: int, way: Way = WAYS[1]) -> None:
        from threadpoolctl import ThreadpoolController

        self.items, self.k, self.threads = items, min(k, len(items)), threads
        self._blas = ThreadpoolController()
        self._rank = np.arange(len(items), dtype=np.int32)
        self.way, self._width = way, way.items_of(len(items))
        count = self.threads if way.threads == "a block each" else 1
        size = way.users * self._width
        self._memory = deque(np.zeros(size, dtype=np.float32) for _ in range(count))

    def answer(self, queries: Floats, seen: Exclude) -> tuple[Rows, Floats]:
        """Items and scores (B, k), best first; a score of -inf stands for no item."""
        count, size = len(queries), self.way.users
        items = np.empty((count, self.k), dtype=np.int32)
        scores = np.empty((count, self.k), dtype=np.float32)
        apart = self.way.threads == "a block each"

        def work(piece: int, inside: ThreadPool) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            lists = part_of(seen, part.start, part.stop)
            items[part], scores[part] = self._block(queries[part], lists, inside)

        with (
            self._blas.limit(limits=1 if apart else self.threads, user_api="blas"),
            ThreadPool(self.threads) as pool,
            ThreadPool(1) as alone,
        ):
            pieces = -(-count // size)
            if apart:
                pool.map(pieces, lambda piece: work(piece, alone))
            else:
                for piece in range(pieces):
                    work(piece, pool)
        return items, scores

    def _block(self, queries: Floats, seen: Exclude, pool: ThreadPool) -> tuple[Rows, Floats]:
        """The best of each block of items, and of these the best."""
        memory = self._memory.pop()
        found = []
        for begin in range(0, len(self.items), self._width):
            block = self.items[begin : begin + self._width]
            scores = memory[: len(queries) * len(block)].reshape(len(queries), len(block))
            np.matmul(queries, block.T, out=scores)
            found.append(self._best(scores, begin, seen, pool))
        self._memory.append(memory)
        if len(found) == 1 and self.way.select == "kernel":
            return found[0]
        items = np.concatenate([part[0] for part in found], axis=1)
        scores = np.concatenate([part[1] for part in found], axis=1)
        places, best = self._select(scores, self.k)
        return np.take_along_axis(items, places, axis=1), best

    def _best(
        self, scores: Floats, begin: int, seen: Exclude, pool: ThreadPool
    ) -> tuple[Rows, Floats]:
        """The best items of a block of scores, whose items begin at `begin`."""
        indptr, indices = seen
        width = min(self.k, scores.shape[1])
        places = np.empty((len(scores), width), dtype=np.int32)
        best = np.empty((len(scores), width), dtype=np.float32)

        def work(low: int, high: int) -> None:
            hide(scores[low:high], begin, indptr[low : high + 1], indices)
            if self.way.select == "kernel":
                self._select_into(scores[low:high], places[low:high], best[low:high])
                return
            rows = scores[low:high]
            own = np.argpartition(rows, rows.shape[1] - width, axis=1)[:, -width:]
            places[low:high], best[low:high] = own, np.take_along_axis(rows, own, axis=1)

        pool.map_ranges(len(scores), work, per_thread=1)
        places += begin
        return places, best

    def _select(self, scores: Floats, k: int) -> tuple[Rows, Floats]:
        places = np.empty((len(scores), k), dtype=np.int32)
        best = np.empty((len(scores), k), dtype=np.float32)
        self._select_into(scores, places, best)
        return places, best

    def _select_into(self, scores: Floats, places: Rows, best: Floats) -> None:
        count, width = scores.shape
        rank = self._rank[:width] if width <= len(self._rank) else np.arange(width, dtype=np.int32)
        nobody, none = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        counts = np.empty(count, dtype=np.int64)
        into = BestRows(places, best, counts)
        top_k_rows(scores, TieRanks(rank, rank), (nobody, none), into)


def fastest_way(
    items: Floats,
    queries: Floats,
    seen: Exclude,
    k: int,
    threads: int,
    ways: Sequence[Way] = WAYS,
) -> Way:
    """Try all ways on some of the users and, where there are very many, of the items."""
    items = items[:TRIAL_ITEMS]
    some = min(len(queries), max(FEWEST, TRIAL_SCORES // len(items)))
    request = queries[:some], part_of(seen, 0, some)

    def seconds(way: Way) -> float:
        ranking, found = FloatRanking(items, k, threads, way), []
        ranking.answer(*request)
        for _ in range(TRIALS):
            began = time.perf_counter()
            ranking.answer(*request)
            found.append(time.perf_counter() - began)
        return min(found)

    return min(ways, key=seconds)


def without_bias(vectors: Vectors) -> tuple[Floats, Floats]:
    """Users and items whose dot products are the scores: a bias is one more dimension."""
    users, items = vectors.user_vectors, vectors.item_vectors
    if vectors.item_bias is not None:
        ones = np.ones((len(users), 1), dtype=np.float32)
        users = np.concatenate([users, ones], axis=1)
        items = np.concatenate([items, vectors.item_bias[:, None]], axis=1)
    return np.ascontiguousarray(users, np.float32), np.ascontiguousarray(items, np.float32)
