"""Index: the exact search of a representation, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.hits import Exclude, Hits


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

    def item_filter(self, items: npt.NDArray[Any]) -> Any:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        ...

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps of it beside the representation; nothing where it is made at once."""
        ...

    def explain(self) -> str:
        """What is searched by, and why."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of everything that the search keeps for items: nothing of users."""
        ...


class SavedIndex(NamedTuple):
    """The tensors that a file has kept of an index; checked: their values were looked at before."""

    tensors: Mapping[str, npt.NDArray[Any]]
    checked: bool = False


INDEXES = {
    "codes": ("xorec.search.hamming.lazy_index", "LazyHammingIndex"),
    "masked-codes": ("xorec.search.hamming.lazy_index", "LazyHammingIndex"),
    "two-stage": ("xorec.search.two_stage", "TwoStageIndex"),
    "codes of float users": ("xorec.search.code_scores", "LookUpIndex"),
    "codebooks": ("xorec.search.code_scores", "LookUpIndex"),
    "composed-codes": ("xorec.search.code_scores", "ComposedIndex"),
    "neighbours": ("xorec.search.postings", "PostingIndex"),
}
"""Kind of representation: (module, class). The class has `of`, with the arguments of `index_of`."""
ANY = ("xorec.search.score_index", "ScoreIndex")
"""Of all other kinds."""


def index_of(
    representation: Representation,
    tie_rank: TieRank,
    saved: SavedIndex | None = None,
    threads: int | None = None,
) -> Index:
    """The best index for a representation: by its codes where it has them, else over all scores.

    saved: an index that a file has kept; it is not built anew then. threads: to build it, or to
    check it; None for all cores.

    >>> import numpy as np
    >>> from xorec.representations.vectors import Vectors
    >>> vectors = Vectors(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32))
    >>> index = index_of(vectors, tie_rank=np.arange(2, dtype=np.int32))
    >>> index.search(vectors.queries(np.array([1])), k=1).items
    array([[1]], dtype=int32)
    """
    kind: str = representation.kind
    if kind == "codes" and getattr(representation, "user_vectors", None) is not None:
        kind = "codes of float users"
    module, name = INDEXES.get(kind, ANY)
    index: Index = getattr(import_module(module), name).of(representation, tie_rank, saved, threads)
    return index
