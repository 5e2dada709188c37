"""Exact top-k of float scores under the tie rule, seen items out.

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

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError
from xorec.core.kernels import kernel
from xorec.data.tie_rank import TieRank
from xorec.search.hits import Exclude, Hits, Nearest, no_hits

WORST = np.uint64(0xFFFFFFFFFFFFFFFF)
"""After every key: the last of a list that is not full."""
POSITION = np.uint64(0xFFFFFFFF)
"""The lower half of a key: the tie position."""


@kernel
def insert_sorted(best: Any, count: int, key: Any) -> int:
    """Put `key` into the ascending `best[:count]` unless it is there; the last falls off when full.

    Returns the new count.
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if best[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < count and best[low] == key:
        return count
    full = len(best)
    if low == full:
        return count
    for at in range(min(count, full - 1), low, -1):
        best[at] = best[at - 1]
    best[low] = key
    return min(count + 1, full)


@kernel
def contains(rows: Any, row: Any) -> bool:
    """Whether the ascending `rows` hold `row`."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low < len(rows) and rows[low] == row


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
def score_of(key: Any) -> Any:
    """The inverse of `score_key`."""
    rising = 0x7FFFFFFF - np.int64(key >> np.uint64(32))
    bits = rising if rising >= 0 else -0x80000000 - rising
    return np.int32(bits).view(np.float32)


@kernel
def unpack_scores(nearest: Any, rows: Any, items: Any, scores: Any) -> None:
    """Keys (B, k) as rows of items and scores; zero behind."""
    keys, counts = nearest
    for b in range(len(counts)):
        for at in range(keys.shape[1]):
            if at < counts[b]:
                items[b, at] = rows[np.int64(keys[b, at] & POSITION)]
                scores[b, at] = score_of(keys[b, at])
            else:
                items[b, at], scores[b, at] = 0, 0


def score_hits(nearest: Nearest, rows: Items) -> Hits:
    """Keys of scores as hits; rows: the item at each tie position."""
    shape = nearest.keys.shape
    items, scores = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float32)
    unpack_scores(nearest, rows, items, scores)
    return Hits(items, scores, nearest.counts)


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
def put_first(keys: Any, count: int, k: int) -> int:
    """Put the first k of keys[:count], in order, before the others; returns how many these are."""
    kept = min(k, count)
    if kept < count:
        select(keys, count, kept)
    keys[:kept].sort()
    return kept


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
def bisect_bound(values: Any, need: int, spare: int, low: Any, high: Any) -> Any:
    """A bound from `low` on that `need` values reach and at most `spare` more, where they differ.

    `low` where fewer reach it; `high`: above all values. Counting is one pass over vectors without
    a branch, so this beats selecting.
    """
    reaching: Any = len(values)
    while high - low > 1 and reaching > need + spare:
        middle = (low + high) >> 1
        bound, count = np.int32(middle), np.int32(0)
        for at in range(np.uint64(len(values))):
            count += np.int32(values[at] >= bound)
        if count < need:
            high = middle
        else:
            low, reaching = middle, np.int64(count)
    return low


@kernel
def bound_for(maxima: Items, need: int) -> Any:
    """A bound that at least `need` of the maxima reach, and few more where they differ."""
    low, high = np.int64(maxima.min()), np.int64(maxima.max()) + 1
    low = bisect_bound(maxima, need, need >> 3, low, high)
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
    row: Row, k: int, excluded: Items, tie_rank: Items, keys: Keys, items: Items, maxima: Items
) -> int:
    """Put the keys of the `k` best items first, sorted; return how many candidates there are.

    All items that tie with the k-th are among the candidates `keys[:returned]`. excluded:
    ascending. keys (m,), items (m + 1,), maxima (ceil(m / CHUNK),): scratch.
    """
    found = candidates(row, k, excluded, items, maxima)
    for at in range(found):
        item = items[at]
        keys[at] = score_key(row[item]) | np.uint64(tie_rank[item])
    put_first(keys, found, k)
    return found


@kernel
def top_k_rows(scores: Any, ranks: Any, exclude: Any, best: Any) -> None:
    """The k best items of each row of `scores` (B, m) into `best`.

    ranks: `TieRanks`; best: items, scores (B, k), counts (B,). exclude: (indptr, indices); the
    excluded items of row b are `indices[indptr[b]:indptr[b + 1]]`, ascending.
    """
    (indptr, indices), (items, values, counts) = exclude, best
    m, k = scores.shape[1], items.shape[1]
    keys = np.empty(m, dtype=np.uint64)
    candidates = np.empty(m + 1, dtype=np.int32)
    maxima = np.empty((m + CHUNK - 1) // CHUNK, dtype=np.int32)
    for b in range(scores.shape[0]):
        row = scores[b]
        excluded = indices[indptr[b] : indptr[b + 1]]
        found = best_keys(row, k, excluded, ranks.tie_rank, keys, candidates, maxima)
        kept = min(k, found)
        for at in range(kept):
            item = ranks.item_at[np.int64(keys[at] & POSITION)]
            items[b, at], values[b, at] = item, row[item]
        counts[b] = kept


_BLOCKS = 256
"""At least so many, of which the maxima are taken: see `_near_the_top`."""


def top_k(
    scores: npt.NDArray[np.float32], k: int, tie_rank: TieRank, exclude: Exclude | None = None
) -> Hits:
    """The `k` best items of each row of `scores` (B, m): score descending, then tie rank.

    NaN ranks with -inf, after every number. `k` may exceed m. The scores are only read.

    >>> import numpy as np
    >>> scores = np.array([[0.5, 0.9, 0.9]], dtype=np.float32)
    >>> top_k(scores, 2, tie_rank=np.array([0, 2, 1], dtype=np.int32)).items
    array([[2, 1]], dtype=int32)
    """
    scores = np.ascontiguousarray(scores, dtype=np.float32)
    rows, m = scores.shape
    _check_tie_rank(tie_rank, m)
    hits = no_hits(rows, min(positive_int(k), m))
    indptr, indices = exclude or (np.zeros(rows + 1, np.int64), np.zeros(0, np.int32))
    if len(indptr) != rows + 1:
        raise DataError(f"exclude has {len(indptr) - 1} rows but the scores have {rows}.")
    ranks = TieRanks(np.ascontiguousarray(tie_rank, dtype=np.int32), inverse(tie_rank))
    lists = (
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
    )
    top_k_rows(scores, ranks, lists, (hits.items, hits.scores, hits.counts))
    return hits


def top_k_row(
    scores: npt.NDArray[np.float32],
    k: int,
    tie_rank: TieRank,
    exclude: npt.NDArray[np.integer] | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """`top_k` of one row (m,) in plain NumPy: (items, scores), the same answer.

    For a single request in a fresh process, where loading numba would take longer than ranking.

    >>> import numpy as np
    >>> scores, tie_rank = np.array([0.5, 0.9, 0.9], np.float32), np.array([0, 2, 1], np.int32)
    >>> top_k_row(scores, 2, tie_rank, exclude=np.array([2]))
    (array([1, 0], dtype=int32), array([0.9, 0.5], dtype=float32))
    """
    _check_tie_rank(tie_rank, len(scores))
    k = positive_int(k)
    near = _near_the_top(scores, k, exclude)
    if near is not None:
        items = near[np.lexsort((tie_rank[near], -scores[near]))[:k]]
        return items, scores[items]
    candidates = np.arange(len(scores), dtype=np.int32)
    if exclude is not None and len(exclude):
        candidates = np.delete(candidates, exclude)
    values = scores[candidates]
    values = np.where(np.isnan(values), np.float32(-np.inf), values)
    if k < len(candidates):
        near = values >= np.partition(values, len(values) - k)[len(values) - k]
        candidates, values = candidates[near], values[near]
    items = candidates[np.lexsort((tie_rank[candidates], -values))[:k]]
    return items, scores[items]


def _near_the_top(
    scores: npt.NDArray[np.float32], k: int, exclude: npt.NDArray[np.integer] | None
) -> npt.NDArray[np.int32] | None:
    """Few items with the `k` best of those that may be shown among them; None: rank them all.

    The k-th largest of the maxima of blocks bounds the k-th largest score from below, at the cost
    of one pass over the scores instead of a partition.
    """
    blocks = max(_BLOCKS, 8 * k)
    width = len(scores) // blocks
    if width < 2:
        return None
    shown = scores.copy()
    if exclude is not None:
        shown[exclude] = -np.inf
    maxima = shown[: blocks * width].reshape(blocks, width).max(axis=1)
    bound = np.partition(maxima, blocks - k)[blocks - k]
    if not bound > -np.inf or np.isnan(maxima.max()):
        return None
    return np.flatnonzero(shown >= bound).astype(np.int32)


def inverse(tie_rank: TieRank) -> npt.NDArray[np.int32]:
    """The item at each tie rank, int32 (m,).

    >>> import numpy as np
    >>> inverse(np.array([2, 0, 1], dtype=np.int32))
    array([1, 2, 0], dtype=int32)
    """
    item_at = np.empty(len(tie_rank), dtype=np.int32)
    item_at[tie_rank] = np.arange(len(tie_rank), dtype=np.int32)
    return item_at


def _check_tie_rank(tie_rank: TieRank, m: int) -> None:
    if tie_rank.shape != (m,):
        raise DataError(f"tie_rank has shape {tie_rank.shape} but the scores have {m} items.")
