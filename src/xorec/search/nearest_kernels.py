"""What the searches of codes share: the list of the nearest so far, and the filters.

A candidate is one 64-bit key, its distance above its place in the tie order. Keys are distinct,
and their ascending order is the ranking, ties and all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch
from xorec.core.kernels import inlined, kernel

NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""After every key: the worst of a list that is not full."""
PLACE = np.uint64(0xFFFFFFFF)
"""The lower half of a key."""
_AHEAD = 12


@kernel
def key_of(distance: Any, place: Any) -> Any:
    """Distance above place."""
    return (np.uint64(distance) << np.uint64(32)) | np.uint64(place)


@kernel
def offer(best: Any, count: int, key: Any) -> int:
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
    for place in range(min(count, full - 1), low, -1):
        best[place] = best[place - 1]
    best[low] = key
    return min(count + 1, full)


@kernel
def has(rows: Any, row: Any) -> bool:
    """Whether the ascending `rows` hold `row`."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low < len(rows) and rows[low] == row


@inlined
def may_show(place: Any, rows: Any, shown: Any, excluded: Any, denied: Any) -> Any:
    """Whether the item at `place` passes all filters.

    rows: the item's row at each place. shown (places,): zero hides; empty shows all. excluded,
    denied: rows, ascending.
    """
    if len(shown) and not shown[place]:
        return False
    if not len(excluded) and not len(denied):
        return True
    row = rows[place]
    return not (has(excluded, row) or has(denied, row))


@kernel
def distance_of(code: Any, query: Any) -> Any:
    """Hamming distance of two codes (W,)."""
    total = np.uint64(0)
    for w in range(len(query)):
        total += popcount(code[w] ^ query[w])
    return total


@kernel
def lacking(code: Any, query: Any) -> Any:
    """The bits that the query has and the code lacks."""
    total = np.uint64(0)
    for w in range(len(query)):
        total += popcount(query[w] & ~code[w])
    return total


@kernel
def nearest_of_lists(
    codes: Any,
    masked: bool,
    queries: Any,
    which: Any,
    spans: Any,
    rows: Any,
    tie_rank: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The nearest items of queries[which] among rows[spans[b, 0]:spans[b, 1]] alone.

    codes (m, W), tie_rank (m,): by row. Into keys (distance above tie rank) and counts.
    """
    k, first_words = keys.shape[1], codes[:, 0]
    for at in range(len(which)):
        b = which[at]
        query, best = queries[b], keys[b]
        excluded = indices[indptr[b] : indptr[b + 1]]
        count, worst, end = 0, NOTHING, spans[b, 1]
        for place in range(spans[b, 0], end):
            if place + _AHEAD < end:
                prefetch(first_words, rows[place + _AHEAD])
            row = rows[place]
            code = codes[row]
            distance = lacking(code, query) if masked else distance_of(code, query)
            if key_of(distance, 0) < worst:
                key = key_of(distance, tie_rank[row])
                if key < worst and not has(excluded, row) and not has(denied, row):
                    count = offer(best, count, key)
                    if count == k:
                        worst = best[k - 1]
        counts[b] = count


@kernel
def rank_all(
    codes: Any,
    masked: bool,
    query: Any,
    bits: int,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    distances: Any,
    best: Any,
) -> Any:
    """As many of the nearest as `best` holds, by counting: for a k too large for a sorted list.

    distances (places,): scratch, uint16.
    """
    hidden = np.uint16(0xFFFF)
    ends = np.zeros(bits + 2, dtype=np.int64)
    for place in range(len(rows)):
        distances[place] = hidden
        if may_show(place, rows, shown, excluded, denied):
            code = codes[rows[place]]
            distance = lacking(code, query) if masked else distance_of(code, query)
            distances[place] = distance
            ends[np.int64(distance) + 1] += 1
    for distance in range(bits + 1):
        ends[distance + 1] += ends[distance]
    count = min(len(best), ends[bits + 1])
    for place in range(len(rows)):
        if distances[place] != hidden:
            at = ends[distances[place]]
            ends[distances[place]] = at + 1
            if at < count:
                best[at] = key_of(distances[place], place)
    return count


@kernel
def unpack(
    keys: Any, counts: Any, item_at: Any, bits: int, items: Any, scores: Any, distances: Any
) -> None:
    """Keys (B, k) as rows of items, distances, and scores 1 - distance / bits; zero behind."""
    step = np.float32(1) / np.float32(bits)
    for b in range(len(counts)):
        for place in range(keys.shape[1]):
            if place < counts[b]:
                distance = np.int32(keys[b, place] >> np.uint64(32))
                items[b, place] = item_at[np.int64(keys[b, place] & PLACE)]
                distances[b, place] = distance
                scores[b, place] = np.float32(1) - np.float32(distance) * step
            else:
                items[b, place], distances[b, place], scores[b, place] = 0, 0, 0
