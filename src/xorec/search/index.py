"""Index: the exact search of a representation, whatever it is."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xorec.representations.base import Representation
from xorec.search.hits import Exclude, Hits
from xorec.search.ties import TieRank


class Index(Protocol):
    """Finds the best items of queries under the tie rule. Never changes."""

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
        """The `k` best items of each query.

        exclude: rows that a query may not show, ascending, as (indptr, indices). deny: rows for no
        query. allow: only these rows (or a bool for each) for all queries.
        """
        ...

    def explain(self) -> str:
        """What is searched by, and why."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of everything that the search needs."""
        ...


def index_of(representation: Representation, tie_rank: TieRank) -> Index:
    """The best index for a representation: its own, or one over all scores."""
    from xorec.search.scores import ScoreIndex

    own = representation.make_index(tie_rank)
    return ScoreIndex(representation, tie_rank) if own is None else own
