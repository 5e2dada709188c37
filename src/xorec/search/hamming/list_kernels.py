"""Distances one item at a time: of short lists of candidates, and of very long answers.

A candidate is one 64-bit key, its distance above its tie position. Keys are distinct, and their
ascending order is the ranking, ties and all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch
from xorec.core.kernels import inlined, kernel
from xorec.search.sorted_kernels import POSITION, WORST, contains, insert_sorted

_AHEAD = 12


@kernel
def key_of(distance: Any, position: Any) -> Any:
    """Distance above tie position."""
    return (np.uint64(distance) << np.uint64(32)) | np.uint64(position)


@inlined
def passes(position: Any, checks: Any) -> Any:
    """Whether the item at a tie position passes all filters; checks: `arrays.RowFilter`."""
    if len(checks.allow_mask) and not checks.allow_mask[position]:
        return False
    if not len(checks.excluded) and not len(checks.denied):
        return True
    row = checks.rows[position]
    return not (contains(checks.excluded, row) or contains(checks.denied, row))


@kernel
def distance_of(code: Any, query: Any) -> Any:
    """Hamming distance of two codes (W,)."""
    total = np.uint64(0)
    for w in range(len(query)):
        total += popcount(code[w] ^ query[w])
    return total


@kernel
def masked_distance_of(code: Any, query: Any) -> Any:
    """The bits that the query has and the code lacks."""
    total = np.uint64(0)
    for w in range(len(query)):
        total += popcount(query[w] & ~code[w])
    return total


@kernel
def lag_of(items: Any, row: Any) -> Any:
    """What the item's offset is less than the largest; items: what has `offsets` and `most`."""
    if not len(items.offsets):
        return np.uint64(0)
    return np.uint64(items.most) - np.uint64(items.offsets[row])


@kernel
def nearest_of_lists(
    items: Any, queries: Any, which: Any, candidates: Any, filters: Any, nearest: Any
) -> None:
    """The nearest items of queries[which], each among its own candidates alone.

    items: `arrays.ItemCodes`. candidates: (spans, rows); those of query b are
    rows[spans[b, 0]:spans[b, 1]]. Into `nearest`; the filters' allow mask is not looked at.
    """
    codes, (spans, rows) = items.codes, candidates
    k, first_words = nearest.keys.shape[1], codes[:, 0]
    for at in range(len(which)):
        b = which[at]
        query, best = queries[b], nearest.keys[b]
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        count, worst, end = 0, WORST, spans[b, 1]
        for entry in range(spans[b, 0], end):
            if entry + _AHEAD < end:
                prefetch(first_words, rows[entry + _AHEAD])
            row = rows[entry]
            code = codes[row]
            distance = masked_distance_of(code, query) if items.masked else distance_of(code, query)
            distance += lag_of(items, row)
            if key_of(distance, 0) < worst:
                key = key_of(distance, items.tie_rank[row])
                if key < worst and not (contains(excluded, row) or contains(filters.denied, row)):
                    count = insert_sorted(best, count, key)
                    if count == k:
                        worst = best[k - 1]
        nearest.counts[b] = count


@kernel
def rank_all(items: Any, query: Any, bits: int, checks: Any, distances: Any, best: Any) -> Any:
    """As many of the nearest as `best` holds, by counting: for a k too large for a sorted list.

    items: `arrays.ItemCodes`; checks: `arrays.RowFilter`. distances (items,): scratch, uint16.
    """
    out, rows = np.uint16(0xFFFF), checks.rows
    farthest = bits + items.most
    ends = np.zeros(farthest + 2, dtype=np.int64)
    for position in range(len(rows)):
        distances[position] = out
        if passes(position, checks):
            code = items.codes[rows[position]]
            distance = masked_distance_of(code, query) if items.masked else distance_of(code, query)
            distance += lag_of(items, rows[position])
            distances[position] = distance
            ends[np.int64(distance) + 1] += 1
    for distance in range(farthest + 1):
        ends[distance + 1] += ends[distance]
    count = min(len(best), ends[farthest + 1])
    for position in range(len(rows)):
        if distances[position] != out:
            at = ends[distances[position]]
            ends[distances[position]] = at + 1
            if at < count:
                best[at] = key_of(distances[position], position)
    return count


@kernel
def unpack(nearest: Any, item_at: Any, bits: int, most: int, hits: Any) -> None:
    """Keys (B, k) as (items, scores, distances), each (B, k); zero behind the last.

    item_at: the row at each tie position. most: the largest offset; the distances of keys are
    those less offset, and so much more. A score is 1 - distance / bits.
    """
    (keys, counts), (items, scores, distances) = nearest, hits
    step = np.float32(1) / np.float32(bits)
    for b in range(len(counts)):
        for at in range(keys.shape[1]):
            if at < counts[b]:
                distance = np.int32(keys[b, at] >> np.uint64(32)) - np.int32(most)
                items[b, at] = item_at[np.int64(keys[b, at] & POSITION)]
                distances[b, at] = distance
                scores[b, at] = np.float32(1) - np.float32(distance) * step
            else:
                items[b, at], distances[b, at], scores[b, at] = 0, 0, 0
