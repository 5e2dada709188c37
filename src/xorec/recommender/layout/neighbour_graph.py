"""Which items are near which: exact nearest neighbours, each link seen from both ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.recommender.similarity import SimilarityIndex

_AT_ONCE = 8192


class NeighbourGraph(NamedTuple):
    """Row i: the nodes linked[indptr[i]:indptr[i + 1]], ascending."""

    indptr: npt.NDArray[np.int64]
    linked: npt.NDArray[np.int32]


def nearest(compared: SimilarityIndex, k: int, options: RunOptions) -> npt.NDArray[np.int32]:
    """The k nearest of every row (rows, k), by the tie rule; -1 where there are fewer."""
    n = compared.representation.n_items
    found = np.full((n, k), -1, dtype=np.int32)
    with options.progress.task("nearest items", n) as task:
        for begin in range(0, n, _AT_ONCE):
            rows = np.arange(begin, min(n, begin + _AT_ONCE))
            hits = compared.nearest(rows, k, threads=options.thread_count)
            there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
            found[rows, : there.shape[1]] = np.where(there, hits.items, -1)
            task.advance(len(rows))
    return found


def neighbour_graph(near: npt.NDArray[np.int32]) -> NeighbourGraph:
    """Links of each row with its nearest, and with those whose nearest it is.

    >>> neighbour_graph(np.array([[1], [2], [1]], dtype=np.int32)).linked.tolist()
    [1, 0, 2, 1]
    """
    n, k = near.shape
    there = near.ravel().astype(np.int64)
    here = np.repeat(np.arange(n, dtype=np.int64), k)[there >= 0]
    there = there[there >= 0]
    both = np.sort(np.concatenate([here * n + there, there * n + here]))
    both = both[np.diff(both, prepend=-1) > 0]
    first, second = np.divmod(both, n)
    indptr = np.concatenate([[0], np.bincount(first, minlength=n).cumsum()]).astype(np.int64)
    return NeighbourGraph(indptr, second.astype(np.int32))
