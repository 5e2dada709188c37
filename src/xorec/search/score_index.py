"""ScoreIndex: exact top-k of any representation by scoring everything, a block at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.filters import Filters, Rows, check_range
from xorec.search.hits import Exclude, Hits, no_hits
from xorec.search.index import Index
from xorec.search.top_k import top_k, top_k_row

BLOCK_BYTES = 24 << 20
"""Scores of one block, about: see `evaluation.rankings`."""


class ScoreIndex(Index):
    """One product (BLAS, where the representation is of vectors) and one selection for a block.

    A single query is ranked in plain NumPy, so that a fresh process need not load numba.
    """

    def __init__(self, representation: Representation, tie_rank: TieRank) -> None:
        self.representation, self.tie_rank = representation, tie_rank

    @property
    def nbytes(self) -> int:
        return self.representation.item_nbytes + self.tie_rank.nbytes

    def explain(self) -> str:
        return f"all scores: {self.representation.score_description}"

    def _ready(self, queries: Any) -> Any:
        return queries if hasattr(queries, "shape") else np.asarray(queries)

    def _best(self, queries: Any, k: int, filters: Filters, choice: Any, pool: ThreadPool) -> Hits:
        check_range(filters.indices, len(self.tie_rank), "exclude")
        count, denied = queries.shape[0], filters.denied
        if choice is not None:
            hidden = choice.allow_mask[self.tie_rank] == 0
            hidden[denied] = True
            denied = np.flatnonzero(hidden).astype(np.int32)
        hits = no_hits(count, k)
        size = int(np.clip(BLOCK_BYTES // (4 * max(1, len(self.tie_rank))), 8, 1024))

        def work(piece: int) -> None:
            part = slice(piece * size, min(count, piece * size + size))
            lists = _lists(filters, part, denied)
            found = top_k(self.representation.score(queries[part]), k, self.tie_rank, lists)
            hits.items[part], hits.scores[part] = found.items, found.scores
            hits.counts[part] = found.counts

        with one_blas_thread():
            if count == 1:
                scores, own = self.representation.score(queries)[0], filters.of(0)
                excluded = np.union1d(denied, own) if len(denied) else own
                hits.put(0, *top_k_row(scores, max(1, k), self.tie_rank, excluded))
            else:
                pool.map(-(-count // size), work)
        return hits


def _lists(filters: Filters, part: slice, denied: Rows) -> Exclude:
    """The lists of the queries of a block, with what no query may show."""
    indptr = filters.indptr[part.start : part.stop + 1]
    if not len(denied):
        return indptr - indptr[0], filters.indices[indptr[0] : indptr[-1]]
    lists = [np.union1d(denied, filters.of(b)) for b in range(part.start, part.stop)]
    return np.cumsum([0, *map(len, lists)]), np.concatenate([denied[:0], *lists])
