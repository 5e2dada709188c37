"""Index: the exact search of a representation, whatever it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.search.hits import Exclude, Hits

if TYPE_CHECKING:
    from xorec.representations.codes import Codes
    from xorec.search.hamming.index import HammingIndex


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

    def only(self, items: npt.NDArray[Any]) -> Any:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        ...

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps of it beside the representation; nothing where it needs no making."""
        ...

    def explain(self) -> str:
        """What is searched by, and why."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes of everything that the search needs."""
        ...


def index_of(
    representation: Representation, tie_rank: TieRank, kept: Mapping[str, Any] | None = None
) -> Index:
    """The best index for a representation: by its codes where it has them, else over all scores.

    kept: the tensors of an index that a file has kept; it is not made anew then.
    """
    one: Any = representation
    if one.kind == "shortlist":
        from xorec.search.rerank import ShortlistIndex

        return ShortlistIndex(_hamming(one.codes, tie_rank, kept), one)
    if one.kind == "masked-codes" or (one.kind == "codes" and one.user_vectors is None):
        return _hamming(one, tie_rank, kept)
    if one.kind == "composed-codes":
        from xorec.search.scores.composed import ComposedIndex

        return ComposedIndex(one, tie_rank)
    if one.kind in ("codebooks", "codes"):
        from xorec.search.scores.look_up import LookUpIndex

        return LookUpIndex(one, tie_rank)
    from xorec.search.scores.index import ScoreIndex

    return ScoreIndex(representation, tie_rank)


def _hamming(codes: Codes, tie_rank: TieRank, kept: Mapping[str, Any] | None) -> HammingIndex:
    from xorec.search.hamming.checks import Distance
    from xorec.search.hamming.index import HammingIndex

    distance: Distance = "masked" if codes.kind == "masked-codes" else "hamming"
    items = (codes.item_codes, codes.bits)
    if kept is not None:
        return HammingIndex.from_tensors(kept, *items, tie_rank, distance)
    return HammingIndex(*items, tie_rank, distance=distance, sample=codes.user_codes)
