"""Hits: what every exact search answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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


def no_hits(rows: int, k: int) -> Hits:
    """Room for the hits of so many rows, all zero."""
    return Hits(
        np.zeros((rows, k), dtype=np.int32),
        np.zeros((rows, k), dtype=np.float32),
        np.zeros(rows, dtype=np.int64),
    )
