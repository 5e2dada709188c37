"""ScoreIndex: exact top-k of any representation by scoring everything, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.filters import check_choice, check_lists, check_rows
from xorec.search.hits import Exclude, Hits, no_hits
from xorec.search.index import SavedIndex
from xorec.search.top_k import top_k, top_k_row

BLOCK_BYTES = 24 << 20
"""Scores of one block, about: see `evaluation.rankings`."""


class ScoreIndex:
    """One product (BLAS, where the representation is of vectors) and one selection for a block.

    A single query is ranked in plain NumPy, so that a fresh process need not load numba.
    """

    def __init__(self, representation: Representation, tie_rank: TieRank) -> None:
        self.representation, self.tie_rank = representation, tie_rank

    @classmethod
    def of(
        cls,
        representation: Representation,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> ScoreIndex:
        """The index of a representation; it is made at once, so nothing of it is ever saved."""
        return cls(representation, tie_rank)

    @property
    def nbytes(self) -> int:
        """Bytes of the items' part of the representation and of the tie ranks."""
        return self.representation.item_nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        """What is searched by."""
        return f"all scores: {self.representation.score_description}"

    def item_filter(self, items: npt.NDArray[Any]) -> npt.NDArray[Any]:
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
        denied = _denied(allow, deny, items)
        if count == 1:
            if exclude is not None:
                (begin, end), rows = check_lists(exclude, count, "exclude")
                seen = check_rows(rows[begin:end], items, "exclude")
                excluded = np.union1d(denied, seen) if len(denied) else seen
                return self._one(queries, k, excluded)
            return self._one(queries, k, denied)
        if exclude is None:
            exclude = np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        indptr, indices = check_lists(exclude, count, "exclude")
        check_rows(indices, items, "exclude")
        width = min(positive_int(k), items)
        hits = no_hits(count, width)
        size = int(np.clip(BLOCK_BYTES // (4 * max(1, items)), 8, 1024))

        def work(piece: int) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            lists = _lists(indptr, indices, part, denied)
            found = top_k(self.representation.score(queries[part]), width, self.tie_rank, lists)
            hits.items[part], hits.scores[part] = found.items, found.scores
            hits.counts[part] = found.counts

        with one_blas_thread(), ThreadPool(threads) as pool:
            pool.map(-(-count // size), work)
        return hits

    def _one(self, query: Any, k: int, excluded: npt.NDArray[Any]) -> Hits:
        with one_blas_thread():
            scores = self.representation.score(query)[0]
        rows, values = top_k_row(scores, k, self.tie_rank, excluded)
        return Hits(rows[None], values[None], np.array([len(rows)]))


def _length(queries: Any) -> int:
    """How many queries; sparse rows have no len()."""
    return int(queries.shape[0]) if hasattr(queries, "shape") else len(queries)


def _denied(allow: Any, deny: npt.NDArray[np.integer] | None, items: int) -> npt.NDArray[np.int32]:
    """The rows that no query may show, ascending."""
    if allow is None and deny is None:
        return np.zeros(0, dtype=np.int32)
    denied = np.zeros(items, dtype=np.bool_)
    if allow is not None:
        denied[:] = True
        denied[check_choice(allow, items)] = False
    if deny is not None:
        denied[check_rows(deny, items, "deny")] = True
    return np.flatnonzero(denied).astype(np.int32)


def _lists(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    part: slice,
    denied: npt.NDArray[np.int32],
) -> Exclude:
    """The lists of the queries of a block, with what no query may show."""
    begin, end = indptr[part.start], indptr[part.stop]
    if not len(denied):
        return indptr[part.start : part.stop + 1] - begin, indices[begin:end]
    lists = [
        np.union1d(denied, indices[indptr[b] : indptr[b + 1]]) for b in range(part.start, part.stop)
    ]
    return np.cumsum([0, *map(len, lists)]), np.concatenate([denied[:0], *lists])
