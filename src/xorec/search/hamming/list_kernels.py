"""Distances one item at a time: of short lists of candidates, and of very long answers.

A candidate is one 64-bit key, its distance above its tie position. Keys are distinct, and their
ascending order is the ranking, ties and all.

An exclusion bitmap tells most items from a few excluded ones by one bit, in the cache. Looking an
item up in a list of rows needs its row first, which lies anywhere in memory. So the excluded rows
of a query, where they are few, are turned into tie positions once, and the bits of these (modulo
the size of the bitmap) are set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch
from xorec.core.kernels import inlined, kernel
from xorec.search.top_k import POSITION, WORST, contains, insert_sorted

_AHEAD = 12


@kernel
def key_of(distance: Any, position: Any) -> Any:
    """Distance above tie position."""
    return (np.uint64(distance) << np.uint64(32)) | np.uint64(position)


@inlined
def passes(position: Any, checks: Any) -> Any:
    """Whether the item at a tie position passes all filters; checks: `segment.RowFilter`."""
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

    items: `segment.ItemCodes`. candidates: (spans, rows); those of query b are
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

    items: `segment.ItemCodes`; checks: `segment.RowFilter`. distances (items,): scratch, uint16.
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


BITMAP_WORDS = 32
MOST_EXCLUDED = 256
"""Excluded positions, at most: more would let too little through."""
_ROWS_AHEAD = 16


@kernel
def fill_bitmap(excluded: Any, denied: Any, positions: Any, bitmap: Any, out: Any) -> int:
    """Write the tie positions of excluded and denied rows into `out`; returns how many there are.

    positions: by row; rows that it does not know are in another segment.
    """
    for word in range(BITMAP_WORDS):
        bitmap[word] = np.uint64(0)
    count = 0
    for at in range(min(_ROWS_AHEAD, len(excluded))):
        if excluded[at] < len(positions):
            prefetch(positions, excluded[at])
    for at in range(len(excluded)):
        if at + _ROWS_AHEAD < len(excluded) and excluded[at + _ROWS_AHEAD] < len(positions):
            prefetch(positions, excluded[at + _ROWS_AHEAD])
        if 0 <= excluded[at] < len(positions):
            out[count] = positions[excluded[at]]
            count += 1
    for at in range(len(denied)):
        if denied[at] < len(positions):
            out[count] = positions[denied[at]]
            count += 1
    for at in range(count):
        position = np.uint64(out[at])
        at_word = (position >> np.uint64(6)) % np.uint64(BITMAP_WORDS)
        bitmap[at_word] |= np.uint64(1) << (position & np.uint64(63))
    return count


@kernel
def is_excluded(position: Any, bitmap: Any, excluded: Any) -> Any:
    """Whether the position is one of the excluded positions, whose bits are set."""
    number = np.uint64(position)
    word = bitmap[(number >> np.uint64(6)) % np.uint64(BITMAP_WORDS)]
    if not len(excluded) or not (word >> (number & np.uint64(63))) & np.uint64(1):
        return False
    found = False
    for at in range(len(excluded)):
        found |= excluded[at] == position
    return found
