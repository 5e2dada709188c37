"""Top-k of composed codes: every block of items is scored for every query of a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.representations.composed_kernels import BLOCK, score_block
from xorec.search.scores.blocks_kernels import keep_block


@kernel
def scan_composed(
    columns: Any,
    weights: Any,
    size: int,
    rows: Any,
    queries: Any,
    etas: Any,
    which: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    scratch: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The best items of queries[which] into keys[which] (B, k), ascending, and counts.

    columns (G P, n), weights (G, n): the items in tie order; rows (n,): their rows. scratch: see
    `scratch_for`. `which` should hold few queries: a block stays in the fast cache while they all
    pass over it.
    """
    scores = np.empty(BLOCK, dtype=np.float32)
    for at in range(len(which)):
        counts[which[at]] = 0
    for begin in range(0, len(rows), BLOCK):
        end = min(len(rows), begin + BLOCK)
        n, own = end - begin, scores[: end - begin]
        for at in range(len(which)):
            b = which[at]
            score_block(columns, weights, size, queries[b], etas[b], begin, scratch, own)
            seen = indices[indptr[b] : indptr[b + 1]]
            counts[b] = keep_block(own, n, begin, rows, seen, denied, keys[b], counts[b])
