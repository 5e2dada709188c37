"""The kernels of EASE: how often items are together, and the largest weights of an item."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.top_k_kernels import score_key, select


@kernel
def count_together(by_user: Any, by_item: Any, found: Any, begin: Any, end: Any) -> None:
    """Rows begin..end of the lower half of X'X into found (end - begin, m): users who have both.

    by_user (indptr, items, roots), by_item (indptr, users, roots): roots of the weights, or empty.
    """
    indptr, indices, roots = by_user
    item_indptr, item_users, item_roots = by_item
    for i in range(begin, end):
        row = found[i - begin]
        row[: i + 1] = 0
        for at in range(item_indptr[i], item_indptr[i + 1]):
            user = item_users[at]
            for pair in range(indptr[user], indptr[user + 1]):
                j = indices[pair]
                if j > i:
                    break
                row[j] += item_roots[at] * roots[pair] if len(roots) else 1


@kernel
def largest_weights(
    weights: Any, tie_rank: Any, item_at: Any, targets: Any, values: Any, begin: Any, end: Any
) -> None:
    """Of rows begin..end of weights (m, m), the columns of the largest values by size.

    Into rows of targets and values (m, width), largest first; equal ones by the tie rule.
    """
    m, width = targets.shape
    keys = np.empty(m, dtype=np.uint64)
    for i in range(begin, end):
        for j in range(m):
            keys[j] = score_key(np.float32(abs(weights[i, j]))) | np.uint64(tie_rank[j])
        if width < m:
            select(keys, m, width)
        keys[:width].sort()
        for place in range(width):
            j = item_at[np.int64(keys[place] & np.uint64(0xFFFFFFFF))]
            targets[i, place] = j
            values[i, place] = weights[i, j]
