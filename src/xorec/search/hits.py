"""Hits, the answer of every exact search, and Nearest, what kernels write for a part of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool

Exclude = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]
"""(indptr, indices): the items that row b may not show are `indices[indptr[b]:indptr[b + 1]]`,
ascending."""


@dataclass(frozen=True, eq=False)
class Hits:
    """The best items of each row, best first.

    Row b has `counts[b]` hits: `items[b, :counts[b]]` with `scores[b, :counts[b]]`. There are
    fewer than k only where fewer candidates exist; what stands behind them means nothing.
    distances: where items were ranked by Hamming distance, that too.

    >>> import numpy as np
    >>> items, scores = np.array([[7, 0]], np.int32), np.array([[0.5, 0]], np.float32)
    >>> for items, scores in Hits(items, scores, counts=np.array([1])):
    ...     print(items, scores)
    [7] [0.5]
    """

    items: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int64]
    distances: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def row(self, b: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Items and scores of row b, exactly as many as there are.

        >>> import numpy as np
        >>> items, scores = np.array([[7, 0]], np.int32), np.array([[0.5, 0]], np.float32)
        >>> Hits(items, scores, counts=np.array([1])).row(0)
        (array([7], dtype=int32), array([0.5], dtype=float32))
        """
        count = self.counts[b]
        return self.items[b, :count], self.scores[b, :count]

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]:
        return (self.row(b) for b in range(len(self)))

    def put(self, b: int, items: npt.NDArray[Any], scores: npt.NDArray[Any]) -> None:
        """Write row b.

        >>> hits = no_hits(1, 3)
        >>> hits.put(0, [7, 2], [0.5, 0.25])
        >>> hits.items.tolist(), hits.counts.tolist()
        ([[7, 2, 0]], [2])
        """
        count = self.counts[b] = len(items)
        self.items[b, :count], self.scores[b, :count] = items, scores


def no_hits(rows: int, k: int, *, distances: bool = False) -> Hits:
    """Room for the hits of so many rows, all zero."""
    return Hits(
        np.zeros((rows, k), dtype=np.int32),
        np.zeros((rows, k), dtype=np.float32),
        np.zeros(rows, dtype=np.int64),
        np.zeros((rows, k), dtype=np.int32) if distances else None,
    )


LONG_LIST = 1_024
"""Longer answers are ranked by counting or selecting, not by insertion into a sorted list."""
FIRST_QUERIES = 16
"""Single queries that an index answers in plain NumPy before one waits for kernels: a few
milliseconds each for a million items."""
_FIRST = np.zeros(1, dtype=np.int64)
Numbers = npt.NDArray[np.int64]


class Nearest(NamedTuple):
    """Where kernels write the best items of queries: keys (B, k), ascending, and counts (B,).

    A key has the distance (or the score, turned round) above the item's tie position, so keys are
    distinct and their order is the ranking, ties and all. Behind counts[b] keys mean nothing.
    """

    keys: Words
    counts: Numbers


def empty_nearest(queries: int, k: int) -> Nearest:
    """Room for the answers of so many queries."""
    return Nearest(np.empty((queries, k), dtype=np.uint64), np.zeros(queries, dtype=np.int64))


def numbers_of(queries: int) -> Numbers:
    """The numbers of all queries of a batch."""
    return _FIRST if queries == 1 else np.arange(queries)


def map_parts(
    pool: ThreadPool, numbers: Numbers, size: int, work: Callable[[Numbers], object]
) -> None:
    """work(part) for consecutive parts of `numbers`, at most `size` long, as even as can be."""
    if len(numbers) <= 1:
        if len(numbers):
            work(numbers)
        return
    pieces = max(-(-len(numbers) // size), min(len(numbers), pool.threads))
    parts = np.array_split(numbers, pieces)
    pool.map(len(parts), lambda at: work(parts[at]))
