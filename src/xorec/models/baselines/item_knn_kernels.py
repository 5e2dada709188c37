"""The kernel of ItemKNN: co-occurrence counts of one item at a time, and the nearest kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.top_k_kernels import score_key, select


@kernel
def nearest_items(
    indptr: Any,
    indices: Any,
    item_indptr: Any,
    item_users: Any,
    tie_rank: Any,
    item_at: Any,
    shrink: Any,
    items: Any,
    weights: Any,
    counts: Any,
    begin: Any,
    end: Any,
) -> None:
    """The nearest items of items begin..end into rows of `items` and `weights`, `counts` of them.

    Best first; equal ones by the tie rule. Items that share no user are no neighbours.
    """
    m, width = items.shape
    together = np.zeros(m, dtype=np.int32)
    touched = np.empty(m, dtype=np.int32)
    keys = np.empty(m, dtype=np.uint64)
    for i in range(begin, end):
        found = 0
        for at in range(item_indptr[i], item_indptr[i + 1]):
            user = item_users[at]
            for pair in range(indptr[user], indptr[user + 1]):
                j = indices[pair]
                if j != i:
                    if together[j] == 0:
                        touched[found] = j
                        found += 1
                    together[j] += 1
        size = np.float32(item_indptr[i + 1] - item_indptr[i])
        for place in range(found):
            j = touched[place]
            other = np.float32(item_indptr[j + 1] - item_indptr[j])
            cosine = np.float32(together[j]) / (np.sqrt(size * other) + shrink)
            keys[place] = score_key(cosine) | np.uint64(tie_rank[j])
        kept = min(width, found)
        if kept < found:
            select(keys, found, kept)
        keys[:kept].sort()
        for place in range(kept):
            j = item_at[np.int64(keys[place] & np.uint64(0xFFFFFFFF))]
            other = np.float32(item_indptr[j + 1] - item_indptr[j])
            items[i, place] = j
            weights[i, place] = np.float32(together[j]) / (np.sqrt(size * other) + shrink)
        counts[i] = kept
        for place in range(found):
            together[touched[place]] = 0
