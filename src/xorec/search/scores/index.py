"""ScoreIndex: exact top-k of any representation by scoring everything, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search import filters
from xorec.search.hits import Exclude, Hits
from xorec.search.top_k import top_k, top_k_row

BLOCK_BYTES = 24 << 20
"""Scores of one block, about: see `evaluation.blocks`."""


class ScoreIndex:
    """One product (BLAS, where the representation is of vectors) and one selection for a block.

    A single query is ranked in plain NumPy, so that a fresh process need not load numba.
    """

    def __init__(self, representation: Representation, tie_rank: TieRank) -> None:
        self.representation, self.tie_rank = representation, tie_rank

    @property
    def nbytes(self) -> int:
        """Bytes of the representation and of the tie ranks."""
        return self.representation.nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        """What is searched by."""
        return f"all scores: {self.representation.score_description}"

    def only(self, items: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A choice of items is ready as it is."""
        return np.asarray(items)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing is made that a file could keep."""
        return {}

    def search(
        self,
        queries: Any,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: Any = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """See `Index.search`."""
        count, items = _length(queries), self.representation.n_items
        hidden = _hidden(allow, deny, items)
        if count == 1:
            own = None if exclude is None else exclude[1]
            return self._one(queries, k, hidden if own is None else np.union1d(hidden, own))
        if exclude is None:
            exclude = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        indptr, indices = filters.check_lists(exclude, count, "exclude")
        width = min(positive_int(k), items)
        hits = Hits(
            np.zeros((count, width), dtype=np.int32),
            np.zeros((count, width), dtype=np.float32),
            np.zeros(count, dtype=np.int64),
        )
        size = int(np.clip(BLOCK_BYTES // (4 * max(1, items)), 8, 1024))

        def work(piece: int) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            lists = _lists(indptr, indices, part, hidden)
            found = top_k(self.representation.score(queries[part]), width, self.tie_rank, lists)
            hits.items[part], hits.scores[part] = found.items, found.scores
            hits.counts[part] = found.counts

        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"), ThreadPool(threads) as pool:
            pool.map(-(-count // size), work)
        return hits

    def _one(self, query: Any, k: int, hidden: npt.NDArray[Any]) -> Hits:
        rows, values = top_k_row(self.representation.score(query)[0], k, self.tie_rank, hidden)
        return Hits(rows[None], values[None], np.array([len(rows)]))


def _length(queries: Any) -> int:
    """How many queries; sparse rows have no len()."""
    return int(queries.shape[0]) if hasattr(queries, "shape") else len(queries)


def _hidden(allow: Any, deny: npt.NDArray[np.integer] | None, items: int) -> npt.NDArray[np.int32]:
    """The rows that no query may show, ascending."""
    if allow is None and (deny is None or not len(deny)):
        return np.zeros(0, dtype=np.int32)
    hidden = np.zeros(items, dtype=np.bool_)
    if allow is not None:
        allow = np.asarray(allow)
        if allow.dtype != np.bool_:
            allow = filters.check_rows(allow, items, "allow")
        hidden[:] = True
        hidden[allow] = False
    if deny is not None:
        hidden[filters.check_rows(deny, items, "deny")] = True
    return np.flatnonzero(hidden).astype(np.int32)


def _lists(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    part: slice,
    hidden: npt.NDArray[np.int32],
) -> Exclude:
    """The lists of the queries of a block, with what no query may show."""
    begin, end = indptr[part.start], indptr[part.stop]
    if not len(hidden):
        return indptr[part.start : part.stop + 1] - begin, indices[begin:end]
    lists = [
        np.union1d(hidden, indices[indptr[b] : indptr[b + 1]]) for b in range(part.start, part.stop)
    ]
    return np.cumsum([0, *map(len, lists)]), np.concatenate([hidden[:0], *lists])
