"""Which items are near which: exact nearest neighbours, each link seen from both ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.recommender.layout.features import item_codes
from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import SimilarityIndex
from xorec.representations.codes import Codes
from xorec.search.index import index_of

_AT_ONCE = 8192


class NeighbourGraph(NamedTuple):
    """Row i: the items linked[indptr[i]:indptr[i + 1]], ascending."""

    indptr: npt.NDArray[np.int64]
    linked: npt.NDArray[np.int32]


def comparison_of(recommender: Recommender) -> SimilarityIndex:
    """How items are compared on a map: by Hamming distance where there are codes."""
    learned, coded = recommender.representation, item_codes(recommender)
    if not learned.compares_items:
        raise OptionError(
            "this model does not compare items: take --layout pca, or a model that learns from "
            "pairs."
        )
    if coded is None or learned.kind == "codes":
        return recommender.item_neighbours
    codes, bits = coded
    among = Codes(codes, codes, bits)
    return SimilarityIndex(among, index_of(among, recommender.tie_rank))


def nearest_items(
    compared: SimilarityIndex, rows: npt.NDArray[np.int64], k: int, options: RunOptions
) -> npt.NDArray[np.int32]:
    """The k nearest of each of these items (rows, k), by the tie rule; -1 where there are fewer."""
    found = np.full((len(rows), k), -1, dtype=np.int32)
    with options.progress.task("nearest items", len(rows)) as task:
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            hits = compared.nearest(some, k, threads=options.thread_count)
            there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
            found[begin : begin + len(some), : there.shape[1]] = np.where(there, hits.items, -1)
            task.advance(len(some))
    return found


def neighbour_graph(nearest: npt.NDArray[np.int32]) -> NeighbourGraph:
    """Links of each item with its nearest, and with those whose nearest it is.

    >>> neighbour_graph(np.array([[1], [2], [1]], dtype=np.int32)).linked.tolist()
    [1, 0, 2, 1]
    """
    n, k = nearest.shape
    near = nearest.ravel().astype(np.int64)
    here = np.repeat(np.arange(n, dtype=np.int64), k)[near >= 0]
    near = near[near >= 0]
    both = np.sort(np.concatenate([here * n + near, near * n + here]))
    both = both[np.diff(both, prepend=-1) > 0]
    first, second = np.divmod(both, n)
    indptr = np.concatenate([[0], np.bincount(first, minlength=n).cumsum()]).astype(np.int64)
    return NeighbourGraph(indptr, second.astype(np.int32))
