"""The kernels of exact top-k over rows of float scores.

A candidate is one 64-bit key: the score, turned into an integer that falls as the score rises,
above the item's tie rank. Keys are distinct and their ascending order is the ranking, ties and
all, so selecting and sorting need no comparison of their own.

Nearly every item is thrown out unseen. One scan takes the maximum of every chunk of items; a bound
that k + excluded of these reach is reached by at least k items that may be shown, so only chunks
that reach it are looked at, and only items that reach it become candidates. The answer does not
hang on that bound: should it leave fewer than k candidates (NaN), every item becomes one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel

Keys = npt.NDArray[np.uint64]
Row = npt.NDArray[np.float32]
Items = npt.NDArray[np.int32]

CHUNK = 32
"""Items whose largest score is looked at first."""
_LAST = np.uint64(0xFF800000) << np.uint64(32)  # of -inf and NaN: after every number


class TieRanks(NamedTuple):
    """tie_rank (m,), and its inverse: the item at each rank."""

    tie_rank: Items
    item_at: Items


class BestRows(NamedTuple):
    """Room for the best items of rows: items, scores (B, k), counts (B,)."""

    items: Items
    scores: Row
    counts: npt.NDArray[np.int64]


@kernel
def score_key(score: Any) -> Any:
    """The score as the upper half of a key: smaller for larger scores; NaN is -inf, -0 is 0."""
    value = np.float32(score + np.float32(0.0))
    if not value > np.float32(-np.inf):
        return _LAST
    bits = np.int64(value.view(np.int32))
    rising = bits if bits >= 0 else -0x80000000 - bits
    return np.uint64(0x7FFFFFFF - rising) << np.uint64(32)


@kernel
def select(values: Any, n: int, k: int) -> None:
    """Reorder `values[:n]` so that its `k` smallest stand first (Hoare's quickselect)."""
    low, high = 0, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while pivot < values[right]:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            return


@kernel
def rising(bits: Any) -> Any:
    """The bits of a float as an integer that rises with it, and back again (-0 below 0)."""
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


@kernel
def chunk_maxima(row: Row, maxima: Items) -> None:
    """The largest score of each chunk of items, as `rising`, (ceil(m / CHUNK),); NaN: any."""
    bits = row.view(np.int32)
    for chunk in range(len(maxima)):
        part = bits[chunk * CHUNK : chunk * CHUNK + CHUNK]
        largest = np.int32(-0x80000000)
        for at in range(len(part)):
            largest = max(largest, rising(part[at]))
        maxima[chunk] = largest


@kernel
def bound_for(maxima: Items, need: int) -> Any:
    """A bound that at least `need` of the maxima reach, and few more where they differ: bisection.

    Counting is one pass over vectors without a branch, so this beats selecting.
    """
    low, high = np.int64(maxima.min()), np.int64(maxima.max()) + 1
    while high - low > 1:
        middle = (low + high) >> 1
        bound = np.int32(middle)
        count = np.int32(0)
        for chunk in range(len(maxima)):
            count += np.int32(maxima[chunk] >= bound)
        if count < need:
            high = middle
        else:
            low = middle
            if count <= need + (need >> 3):
                break
    return np.int32(-1 if low == 0 else low)  # -1 is minus zero


@kernel
def items_above(row: Row, bound: Any, maxima: Items, items: Items) -> int:
    """Write the items that reach `bound`, ascending; return how many. items: scratch, (m + 1,)."""
    found = 0
    score = np.int32(rising(bound)).view(np.float32)
    for chunk in range(len(maxima)):
        if maxima[chunk] >= bound:
            for item in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, len(row))):
                items[found] = item
                found += row[item] >= score
    return found


@kernel
def without(items: Items, n: int, excluded: Items) -> int:
    """Drop the excluded from `items[:n]` (both ascending), in place; return how many remain."""
    kept, out = 0, 0
    for at in range(n):
        item = items[at]
        while out < len(excluded) and excluded[out] < item:
            out += 1
        if out == len(excluded) or excluded[out] != item:
            items[kept] = item
            kept += 1
    return kept


@kernel
def candidates(row: Row, k: int, excluded: Items, items: Items, maxima: Items) -> int:
    """Write items among which the `k` best are, and all that tie with the k-th; return how many.

    items: scratch, (m + 1,). maxima: scratch, (ceil(m / CHUNK),).
    """
    need = k + len(excluded)
    if need < len(maxima):
        chunk_maxima(row, maxima)
        found = items_above(row, bound_for(maxima, need), maxima, items)
        found = without(items, found, excluded)
        if found >= k:
            return found
    for item in range(len(row)):
        items[item] = item
    return without(items, len(row), excluded)


@kernel
def best_keys(
    row: Row,
    k: int,
    excluded: Items,
    tie_rank: Items,
    keys: Keys,
    items: Items,
    maxima: Items,
) -> int:
    """Put the keys of the `k` best items first, sorted; return how many candidates there are.

    All items that tie with the k-th are among the candidates `keys[:returned]`. excluded:
    ascending. keys (m,), items (m + 1,), maxima (ceil(m / CHUNK),): scratch.
    """
    found = candidates(row, k, excluded, items, maxima)
    for at in range(found):
        item = items[at]
        keys[at] = score_key(row[item]) | np.uint64(tie_rank[item])
    kept = min(k, found)
    if kept < found:
        select(keys, found, kept)
    keys[:kept].sort()
    return found


@kernel
def top_k_rows(scores: Any, ranks: Any, exclude: Any, best: Any) -> None:
    """The k best items of each row of `scores` (B, m) into `best`.

    ranks: `TieRanks`; best: `BestRows`. exclude: (indptr, indices); the excluded items of row b are
    `indices[indptr[b]:indptr[b + 1]]`, ascending.
    """
    (indptr, indices), m, k = exclude, scores.shape[1], best.items.shape[1]
    keys = np.empty(m, dtype=np.uint64)
    candidates = np.empty(m + 1, dtype=np.int32)
    maxima = np.empty((m + CHUNK - 1) // CHUNK, dtype=np.int32)
    for b in range(scores.shape[0]):
        row = scores[b]
        excluded = indices[indptr[b] : indptr[b + 1]]
        found = best_keys(row, k, excluded, ranks.tie_rank, keys, candidates, maxima)
        kept = min(k, found)
        for at in range(kept):
            item = ranks.item_at[np.int64(keys[at] & np.uint64(0xFFFFFFFF))]
            best.items[b, at] = item
            best.scores[b, at] = row[item]
        best.counts[b] = kept
