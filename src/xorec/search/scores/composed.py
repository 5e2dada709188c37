"""ComposedIndex: exact top-k of composed codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.representations.composed import BLOCK, composed_scores, score_block, scratch_for
from xorec.search.batches import Nearest, Numbers
from xorec.search.filters import Filters
from xorec.search.scores.blocks import Arrays, BlockIndex, Part, keep_block

if TYPE_CHECKING:
    from xorec.representations.composed import ComposedCodes


class ComposedItems(NamedTuple):
    """columns (G P, n), weights (G, n), rows (n,): items in tie order, `size` bits a group."""

    columns: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.float32]
    size: int
    rows: npt.NDArray[np.int32]


@kernel
def scan_composed(
    items: Any, queries: Any, which: Any, filters: Any, scratch: Any, nearest: Any
) -> None:
    """The best items of the queries `which` into `nearest`.

    items: `ComposedItems`. queries: (words (B, G P), etas (B, G)). scratch: see `scratch_for`.
    `which` should hold few queries: a block stays in the fast cache while they all pass over it.
    """
    (columns, weights, size, rows), (words, etas), (keys, counts) = items, queries, nearest
    scores = np.empty(BLOCK, dtype=np.float32)
    for at in range(len(which)):
        counts[which[at]] = 0
    for begin in range(0, len(rows), BLOCK):
        end = min(len(rows), begin + BLOCK)
        block = scores[: end - begin]
        for at in range(len(which)):
            b = which[at]
            score_block(columns, weights, size, words[b], etas[b], begin, scratch, block)
            excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
            checks = (rows, excluded, filters.denied)
            counts[b] = keep_block(block, begin, checks, keys[b], counts[b])


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
        return composed_scores(columns, weights, self.codes.group_bits, words, etas)
