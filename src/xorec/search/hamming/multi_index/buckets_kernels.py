"""The buckets of multi-index hashing: finding the full ones, and the candidates in them.

A probe reads one bit of a map of the buckets that hold anything, which fits a fast cache; only
full buckets go further, by their number among the full ones (counted in the map), and their lines
are fetched a few buckets ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch
from xorec.core.kernels import kernel
from xorec.search.hamming.exclusion_bitmap_kernels import is_excluded
from xorec.search.hamming.list_kernels import key_of, passes
from xorec.search.hamming.multi_index.pool_kernels import FARTHEST, add, may_come
from xorec.search.hamming.multi_index.tables import ENTRY, LAG

AT_ONCE = 512
"""Buckets that are listed before they are scanned."""
_NEAR, _FAR, _AHEAD = 8, 24, 64
"""Buckets ahead that words and starts are fetched, and words of a bucket."""
WAITING = 12
"""Candidates that wait together for the lines of their positions."""
SPANS = AT_ONCE + WAITING
"""Rows of scratch: where each bucket begins and ends, and the candidates that wait."""


@kernel
def list_full(key: Any, masks: Any, full: Any, before: Any, found: Any) -> Any:
    """Which of the full buckets the buckets key ^ mask are, into `found`; returns how many."""
    count = np.int64(0)
    for at in range(len(masks)):
        bucket = key ^ masks[at]
        word, bit = bucket >> np.uint32(6), np.uint64(bucket & np.uint32(63))
        here = full[word]
        found[count] = before[word] + np.int32(
            popcount(here & ((np.uint64(1) << bit) - np.uint64(1)))
        )
        count += np.int64((here >> bit) & np.uint64(1))
    return count


@kernel
def admit(waiting: Any, waits: int, places: Any, checks: Any, pool: Any) -> None:
    """Add waiting[:waits] (entry, distance) to the nearest so far.

    They waited while the lines of their positions came; where rows are filtered, those come next.
    checks: `tables.EntryFilter`; pool: `pool_kernels.Pool`.
    """
    bitmap, excluded, numbers = checks.bitmap, checks.positions, pool.numbers
    by_row = len(checks.excluded) > 0 or len(checks.denied) > 0
    by_any, left = by_row or len(checks.allow_mask) > 0, 0
    if by_row:
        for at in range(waits):
            prefetch(checks.rows, places[waiting[at, 0]])
    for at in range(waits):
        position = places[waiting[at, 0]]
        key = key_of(waiting[at, 1], position)
        if not may_come(numbers, key) or is_excluded(position, bitmap, excluded):
            continue
        if not by_any or passes(position, checks):
            waiting[left, 0] = key
            left += 1
    add(pool, waiting, left)


@kernel
def scan_buckets(
    buckets: Any, count: int, table: Any, query: Any, checks: Any, pool: Any, spans: Any
) -> Any:
    """Add what stands in the full buckets buckets[:count] to the nearest so far.

    buckets (2, AT_ONCE + 1): the number of each in starts, and that of its table; lines of several
    tables come at the same time. table, checks: see `tables`. pool: `pool_kernels.Pool`. spans
    (SPANS, 3): scratch. Returns how many candidates there were.
    """
    places, copies, starts, waiting = table.places, table.copies, table.starts, spans[AT_ONCE:]
    candidates, waits, words, first = np.int64(0), 0, len(query), query[0]
    threshold = np.uint64(pool.numbers[FARTHEST])
    for at in range(min(_FAR, count)):
        prefetch(starts, buckets[0, at])
    for at in range(count + _NEAR):
        if at + _FAR < count:
            prefetch(starts, buckets[0, at + _FAR])
        if at < count:
            number, own = buckets[0, at], buckets[1, at]
            entry = table.cuts[own, ENTRY]
            begin, behind = entry + starts[number], entry + starts[number + 1]
            spans[at, 0], spans[at, 1], spans[at, 2] = begin, behind, table.cuts[own, LAG]
            last = min(behind * words, begin * words + _AHEAD)
            for line in range(begin * words, last, 8):
                prefetch(copies, line)
        if at < _NEAR:
            continue
        entry, end = np.uint64(spans[at - _NEAR, 0]), np.uint64(spans[at - _NEAR, 1])
        lag = np.uint64(spans[at - _NEAR, 2])
        near = threshold - min(threshold, lag)
        candidates += np.int64(end - entry)
        while True:
            if words == 1:
                entry = next_near_word(copies, entry, end, first, near)
            else:
                entry = next_near(copies, entry, end, query, near)
            if entry >= end:
                break
            waiting[waits, 0] = entry
            waiting[waits, 1] = distance_at(copies, entry, query) + lag
            prefetch(places, entry)
            waits += 1
            entry += np.uint64(1)
            if waits == WAITING:
                admit(waiting, waits, places, checks, pool)
                threshold, waits = np.uint64(pool.numbers[FARTHEST]), 0
                near = threshold - min(threshold, lag)
    admit(waiting, waits, places, checks, pool)
    return candidates


@kernel
def distance_at(copies: Any, entry: Any, query: Any) -> Any:
    """The distance of the code of an entry."""
    distance, words = np.uint64(0), np.uint64(len(query))
    for w in range(len(query)):
        distance += popcount(copies[entry * words + np.uint64(w)] ^ query[w])
    return distance


@kernel
def next_near_word(copies: Any, entry: Any, end: Any, query: Any, threshold: Any) -> Any:
    """The next entry within the threshold, or `end`: codes of one word, four at a time."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    while entry + four <= end:
        a = popcount(copies[entry] ^ query) <= threshold
        b = popcount(copies[entry + one] ^ query) <= threshold
        c = popcount(copies[entry + two] ^ query) <= threshold
        d = popcount(copies[entry + three] ^ query) <= threshold
        if a | b | c | d:
            break
        entry += four
    while entry < end and popcount(copies[entry] ^ query) > threshold:
        entry += one
    return entry


@kernel
def next_near(copies: Any, entry: Any, end: Any, query: Any, threshold: Any) -> Any:
    """The next entry within the threshold, or `end`. Mostly the first word alone rules one out."""
    first, words = query[0], np.uint64(len(query))
    while entry < end:
        near = popcount(copies[entry * words] ^ first) <= threshold
        if near and distance_at(copies, entry, query) <= threshold:
            break
        entry += np.uint64(1)
    return entry
