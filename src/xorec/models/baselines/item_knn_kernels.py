"""The kernel of ItemKNN: co-occurrences of one item at a time, and the nearest kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.search.top_k_kernels import score_key, select


class NearestItems(NamedTuple):
    """The nearest items (m, width) of each item and their similarities, `counts` (m,) of them."""

    items: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int64]


@kernel
def nearest_items(
    by_user: Any, by_item: Any, about: Any, shrink: Any, nearest: Any, begin: Any, end: Any
) -> None:
    """The nearest items of items begin..end into rows of `nearest`.

    by_user (indptr, items, roots), by_item (indptr, users, roots): the pairs and the roots of their
    weights; about: (tie rank of each item, item at each rank, sum of each item's weights). Best
    first; equal ones by the tie rule. Items that share no user are no neighbours.
    """
    indptr, indices, roots = by_user
    item_indptr, item_users, item_roots = by_item
    tie_rank, item_at, sizes = about
    items, weights, counts = nearest
    m, width = items.shape
    together = np.zeros(m, dtype=np.float64)
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
                    together[j] += np.float64(item_roots[at]) * roots[pair]
        for place in range(found):
            j = touched[place]
            cosine = np.float32(together[j]) / (np.sqrt(sizes[i] * sizes[j]) + shrink)
            keys[place] = score_key(cosine) | np.uint64(tie_rank[j])
        kept = min(width, found)
        if kept < found:
            select(keys, found, kept)
        keys[:kept].sort()
        for place in range(kept):
            j = item_at[np.int64(keys[place] & np.uint64(0xFFFFFFFF))]
            items[i, place] = j
            weights[i, place] = np.float32(together[j]) / (np.sqrt(sizes[i] * sizes[j]) + shrink)
        counts[i] = kept
        for place in range(found):
            together[touched[place]] = 0
