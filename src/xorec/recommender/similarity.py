"""Items beside items, users beside users: the nearest of a kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.representations.base import Representation
from xorec.search.hits import Hits
from xorec.search.index import Index, index_of

if TYPE_CHECKING:
    from xorec.recommender.recommender import Recommender


@dataclass(frozen=True, eq=False)
class SimilarityIndex:
    """A representation in which users and items are the same things, and its index."""

    representation: Representation
    index: Index

    @classmethod
    def of_items(cls, recommender: Recommender) -> SimilarityIndex:
        """Items beside items; codes share the recommender's own index, or its planes."""
        from xorec.search.hamming.index import HammingIndex

        among, own = recommender.representation.among_items(), recommender.index
        if isinstance(own, HammingIndex) and among.kind == "codes":
            return cls(among, own.by("hamming"))
        return cls(among, index_of(among, recommender.tie_rank))

    @classmethod
    def of_users(cls, recommender: Recommender) -> SimilarityIndex:
        """Users beside users; those with more items first among equals."""
        from xorec.data.tie_rank import tie_rank

        counts = np.diff(recommender.seen[0])
        among = recommender.representation.among_users()
        return cls(among, index_of(among, tie_rank(recommender.users, counts)))

    def nearest(self, rows: npt.NDArray[np.integer], k: int, threads: int = 1) -> Hits:
        """The `k` nearest of each of `rows`, without itself."""
        itself = np.arange(len(rows) + 1), np.asarray(rows, dtype=np.int32)
        queries = self.representation.queries(rows)
        return self.index.search(queries, positive_int(k), exclude=itself, threads=threads)
