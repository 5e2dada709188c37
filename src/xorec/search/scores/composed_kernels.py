"""Top-k of composed codes: every block of items is scored for every query of a group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.representations.composed_kernels import BLOCK, score_block
from xorec.search.scores.blocks_kernels import keep_block


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
