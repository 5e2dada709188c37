"""ComposedIndex: exact top-k of composed codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.lazy_kernel import is_loaded
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.representations.composed_kernels import score_all, scratch_for
from xorec.representations.single_query import composed
from xorec.search.batches import Nearest, Numbers
from xorec.search.filters import Filters
from xorec.search.scores.blocks import Arrays, BlockIndex, Part
from xorec.search.scores.composed_kernels import ComposedItems, scan_composed

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
        self, part: Part, ready: Arrays, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        (columns, weights), size = part.columns, self.codes.group_bits
        items = ComposedItems(columns, weights, size, part.rows)

        def scan(which: Numbers) -> None:
            scan_composed(items, ready, which, filters, scratch_for(size), nearest)

        return scan

    def _score(self, part: Part, ready: Arrays) -> Scores:
        (columns, weights), (words, etas) = part.columns, ready
        size = self.codes.group_bits
        if len(words) == 1 and not is_loaded(score_all):
            return composed(columns, weights, size, words[0], etas[0])[None]
        scores = np.empty((len(words), len(part.rows)), dtype=np.float32)
        score_all(columns, weights, size, words, etas, scratch_for(size), scores)
        return scores
