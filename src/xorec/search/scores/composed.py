"""ComposedIndex: exact top-k of composed codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.representations.composed_kernels import score_all, scratch_for
from xorec.search.filters import Filters
from xorec.search.scores.blocks import Arrays, BlockIndex, Part
from xorec.search.scores.composed_kernels import scan_composed

if TYPE_CHECKING:
    from xorec.representations.composed import ComposedCodes


class ComposedIndex(BlockIndex):
    """The columns are the bytes of the groups and the items' weights."""

    def __init__(self, codes: ComposedCodes, tie_rank: TieRank) -> None:
        super().__init__(codes.item_columns, tie_rank)
        self.codes = codes

    @property
    def score_description(self) -> str:
        return self.codes.score_description

    def _ready(self, queries: Any) -> Arrays:
        return self.codes.ready(queries)

    def _scan(
        self,
        part: Part,
        ready: Arrays,
        hidden: Filters,
        keys: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.int64],
    ) -> Callable[[npt.NDArray[np.int64]], object]:
        (columns, weights), (words, etas) = part.columns, ready
        size = self.codes.group_bits
        items, users = (columns, weights, size, part.rows), (words, etas)
        filtered = (hidden.indptr, hidden.indices, hidden.denied)

        def scan(which: npt.NDArray[np.int64]) -> None:
            own = scratch_for(size)
            scan_composed(*items, *users, which, *filtered, own, keys, counts)

        return scan

    def _score(self, part: Part, ready: Arrays) -> Scores:
        (columns, weights), (words, etas) = part.columns, ready
        size = self.codes.group_bits
        scores = np.empty((len(words), len(part.rows)), dtype=np.float32)
        score_all(columns, weights, size, words, etas, scratch_for(size), scores)
        return scores
