"""The buckets of multi-index hashing: finding the full ones, and the nearest of their candidates.

A probe reads one bit of a map of the buckets that hold anything, which fits a fast cache; only
full buckets go further, by their number among the full ones (counted in the map), and their lines
are fetched a few buckets ahead.

The nearest so far stand in a pool in any order: how many there are at each distance says what may
still come. A sorted list of 100 takes 50 ns for each of some hundred items that come and mostly go
again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.bits import Words, popcount, prefetch
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.list_kernels import is_excluded, key_of, passes
from xorec.search.hamming.mih_tables import ENTRY, LAG
from xorec.search.hits import Numbers
from xorec.search.top_k import put_first, select

K, SIZE, WITHIN, FARTHEST, LAST = range(5)
"""Of `Pool.numbers`: how many are asked for; the keys there are; those of them that are at most
FARTHEST away, the distance up to which an item may still come; the last key that may come."""
_SPARE = 64
_SEEN_WORDS = np.uint64(64)


class Pool(NamedTuple):
    """keys (2 k + spare,): distances above tie positions, distinct, some too far by now.

    counts (distances,): keys at each distance. seen (_SEEN_WORDS,): bits of the tie positions,
    modulo their number. numbers (5,): see above.
    """

    keys: Words
    counts: Numbers
    seen: Words
    numbers: Numbers


@kernel
def pool_for(k: int, farthest: int) -> Any:
    """Room for the k nearest, at distances up to `farthest`."""
    return Pool(
        np.empty(2 * k + _SPARE, dtype=np.uint64),
        np.empty(farthest + 1, dtype=np.int64),
        np.empty(np.int64(_SEEN_WORDS), dtype=np.uint64),
        np.array([k, 0, 0, 0, 0]),
    )


@kernel
def make_empty(pool: Any) -> None:
    """Begin again."""
    pool.counts[:] = 0
    pool.seen[:] = 0
    numbers = pool.numbers
    numbers[SIZE], numbers[WITHIN], numbers[FARTHEST] = 0, 0, len(pool.counts) - 1
    numbers[LAST] = np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def may_come(numbers: Any, key: Any) -> Any:
    """Whether an item with this key may be among the nearest, as far as `Pool.numbers` know."""
    return np.int64(key >> np.uint64(32)) <= numbers[FARTHEST] and np.int64(key) <= numbers[LAST]


@kernel
def add(pool: Any, waiting: Any, waits: int) -> None:
    """Take the keys waiting[:waits, 0] that may come, unless they are there.

    Several at once, and all in local names: a call that hands arrays on costs more than a key.
    """
    keys, counts, seen, numbers = pool
    k, size, within = numbers[K], numbers[SIZE], numbers[WITHIN]
    farthest, last = numbers[FARTHEST], numbers[LAST]
    for at in range(waits):
        key = np.uint64(waiting[at, 0])
        distance = key >> np.uint64(32)
        if np.int64(distance) > farthest or np.int64(key) > last:
            continue
        word = (key >> np.uint64(6)) % _SEEN_WORDS
        bit = np.uint64(1) << (key & np.uint64(63))
        if seen[word] & bit and is_there(keys, size, key):
            continue
        seen[word] |= bit
        keys[np.uint64(size)] = key
        size += 1
        counts[distance] += 1
        within += 1
        while within - counts[np.uint64(farthest)] >= k:
            within -= counts[np.uint64(farthest)]
            farthest -= 1
        if size == len(keys):
            last, size = keep_nearest(keys, k), k
            counts[np.uint64(farthest)] -= within - k
            within = k
    numbers[SIZE], numbers[WITHIN], numbers[FARTHEST], numbers[LAST] = size, within, farthest, last


@kernel
def is_there(keys: Any, size: int, key: Any) -> Any:
    """Whether `key` is one of keys[:size]."""
    found = False
    for at in range(size):
        found |= keys[at] == key
    return found


@kernel
def keep_nearest(keys: Any, k: int) -> Any:
    """Put the k nearest first; returns the last of these: no key behind it may come any more."""
    select(keys, len(keys), k)
    last = keys[0]
    for at in range(1, k):
        last = max(last, keys[at])
    return np.int64(last)


@kernel
def take_nearest(pool: Any, best: Any) -> Any:
    """The keys of the nearest, in order, into `best` (k,); returns how many there are."""
    kept = put_first(pool.keys, pool.numbers[SIZE], len(best))
    best[:kept] = pool.keys[:kept]
    return kept


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
    checks: `mih_tables.EntryFilter`; pool: `Pool`.
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
    tables come at the same time. table, checks: see `mih_tables`. pool: `Pool`. spans
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
