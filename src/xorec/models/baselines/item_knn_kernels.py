"""The kernel of ItemKNN: co-occurrences of one item at a time, and the nearest kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.search.top_k_kernels import score_key, select


class NearestItems(NamedTuple):
    """The nearest items (r, width) of `rows` (r,), their similarities, and how many there are."""

    rows: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    counts: npt.NDArray[np.int64]


def no_neighbours(rows: npt.NDArray[np.int32], width: int) -> NearestItems:
    """Room for `width` neighbours of each of these rows."""
    shape = (len(rows), width)
    return NearestItems(
        rows,
        np.empty(shape, dtype=np.int32),
        np.empty(shape, dtype=np.float32),
        np.zeros(len(rows), dtype=np.int64),
    )


@kernel
def nearest_items(
    by_user: Any, by_item: Any, about: Any, shrink: Any, nearest: Any, begin: Any, end: Any
) -> None:
    """The nearest items of the items nearest.rows[begin:end] into those rows of `nearest`.

    by_user (indptr, items, roots), by_item (indptr, users, roots): the pairs and the roots of their
    weights; about: (tie rank of each item, item at each rank, sum of each item's weights). Best
    first; equal ones by the tie rule. Items that share no user are no neighbours.
    """
    indptr, indices, roots = by_user
    item_indptr, item_users, item_roots = by_item
    tie_rank, item_at, sizes = about
    rows, items, weights, counts = nearest
    m, width = len(tie_rank), items.shape[1]
    together = np.zeros(m, dtype=np.float64)
    touched = np.empty(m, dtype=np.int32)
    keys = np.empty(m, dtype=np.uint64)
    for r in range(begin, end):
        i, found = rows[r], 0
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
            items[r, place] = j
            weights[r, place] = np.float32(together[j]) / (np.sqrt(sizes[i] * sizes[j]) + shrink)
        counts[r] = kept
        for place in range(found):
            together[touched[place]] = 0
