"""SimilarityIndex: the items nearest to items, the users nearest to users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.recommender.state import RecommenderState
from xorec.representations.base import Representation
from xorec.search.hits import Hits
from xorec.search.index import Index, index_of


@dataclass(frozen=True, eq=False)
class SimilarityIndex:
    """A representation in which users and items are the same things, and its index."""

    representation: Representation
    index: Index

    @classmethod
    def of_items(cls, state: RecommenderState, index: Index) -> SimilarityIndex:
        """Items nearest to items; codes share the recommender's index, or its planes.

        Not where items have offsets: they are alike by their codes alone.
        """
        from xorec.search.hamming.index import HammingIndex

        among = state.representation.among_items()
        by_code = among.kind == "codes"
        if by_code and isinstance(index, HammingIndex) and not index.most:
            return cls(among, index.by("hamming"))
        return cls(among, index_of(among, state.tie_rank, threads=state.threads))

    @classmethod
    def of_users(cls, state: RecommenderState) -> SimilarityIndex:
        """Users nearest to users; those with more items first among equals."""
        from xorec.data.tie_rank import tie_rank

        among = state.representation.among_users()
        order = tie_rank(state.users, np.diff(state.seen[0]))
        return cls(among, index_of(among, order, threads=state.threads))

    def nearest(
        self,
        rows: npt.NDArray[np.integer],
        k: int,
        threads: int = 1,
        *,
        allow: Any = None,
        deny: npt.NDArray[np.integer] | None = None,
    ) -> Hits:
        """The `k` nearest of each of `rows`, without itself; allow, deny: as `Index.search`."""
        itself = np.arange(len(rows) + 1), np.asarray(rows, dtype=np.int32)
        queries = self.representation.queries(rows)
        return self.index.search(
            queries, positive_int(k), exclude=itself, allow=allow, deny=deny, threads=threads
        )
