"""The scan by sevens: for many queries at once, in the order of their codes.

Neighbours in that order are alike. They look at the same parts of the tables, which are in the
cache, and the k-th distance of one is a good guess for the next: nearly all items are passed over
from the first run on. Where a guess was too low, the query is scanned once more with a higher one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch, trailing_zeros
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.lut import FEW_PARTS, PLANES, few_far, few_near, many_far, many_near
from xorec.search.hamming.lut_kernels import parts_for, place_query
from xorec.search.hamming.scan_kernels import hide
from xorec.search.nearest_kernels import key_of

_NEAR = 1 << PLANES
_LINE = 16
"""Rows of a seen list in one line of the cache."""
_MORE = 10
"""So many items more than k have come since the reach was lowered: now it is worth it again."""
_1, _64 = np.uint64(1), np.uint64(64)


@kernel
def scan_by_sevens(
    tables: Any,
    codes: Any,
    bits: int,
    valid: Any,
    first: int,
    place_of: Any,
    queries: Any,
    which: Any,
    indptr: Any,
    indices: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The nearest items of queries[which] into keys[which] (B, k), ascending, and counts.

    tables, codes: see `sevens_kernels.fill_tables`. The rest as in `scan_kernels.scan`.
    """
    k = keys.shape[1]
    open_, found = valid.copy(), np.empty(RUN, dtype=np.uint64)
    places = np.empty(parts_for(bits), dtype=np.uint64)
    nearest, tally = np.empty((bits + 1) * (k + 1), np.uint32), np.empty(bits + 1, np.int64)
    run = (tables, codes, places, open_, found)
    reach, hidden = bits, False
    for at in range(len(which)):
        b, query = which[at], queries[which[at], 0]
        if at + 4 < len(which):
            prefetch(indptr, which[at + 4])
            soon = indptr[which[at + 2]]
            for line in range(3):
                prefetch(indices, soon + line * _LINE)
        if hidden:
            for word in range(len(valid)):  # five times as fast as a slice
                open_[word] = valid[word]
        excluded = indices[indptr[b] : indptr[b + 1]]
        hidden = len(excluded) > 0
        hide(excluded, first, place_of, open_, 0)
        place_query(query, bits, places)
        step = 1
        while not gather(run, query, reach, k, nearest, tally) and reach < bits:
            reach = min(bits, reach + step)
            step += step
        reach, counts[b] = in_order(nearest, tally, reach, keys[b])


@inlined
def look_up(
    tables: Any, begin: Any, places: Any, reach: int, open_: Any, place: Any, found: Any
) -> Any:
    """`sevens.look_up` for so many parts and this reach."""
    if len(places) == FEW_PARTS:
        if reach < _NEAR:
            return few_near(tables, begin, places, reach, open_, place, found)
        return few_far(tables, begin, places, reach, open_, place, found)
    if reach < _NEAR:
        return many_near(tables, begin, places, reach, open_, place, found)
    return many_far(tables, begin, places, reach, open_, place, found)


@kernel
def gather(run_of: Any, query: Any, reach: int, k: int, nearest: Any, tally: Any) -> bool:
    """Sort the open items within `reach` of a query by distance; returns whether there are k.

    tally (bits + 1,): how many there are at each distance. nearest ((bits + 1) (k + 1),): the
    places of the first k of each distance, and room for one that is not needed. When many have
    come, the reach is lowered: only what k of them leave open is looked for from there on.
    """
    tables, codes, places, open_, found = run_of
    runs = len(open_) // RUN
    size, width, most = len(tables) // max(1, runs), np.uint64(k + 1), k + _MORE
    tally[: reach + 1] = 0
    run, done, new, total = 0, np.uint64(0), 0, 0
    while run < runs and reach >= 0:
        begin, place = np.uint64(run * size), np.uint64(run * RUN)
        words = look_up(tables, begin, places, reach, open_, place, found)
        if done:
            words = skip(found, words, done)
            done = np.uint64(0)
        run += 1
        while words:
            word = trailing_zeros(words)
            words &= words - _1
            left = found[word]
            while left:
                bit = trailing_zeros(left)
                left &= left - _1
                item = (place + word) * _64 + bit
                distance = popcount(np.uint64(codes[item]) ^ query)
                there = tally[distance]
                nearest[distance * width + np.uint64(min(there, k))] = item
                tally[distance] = there + 1
                new += 1
                if new == most:  # the rest of this run, with a lower reach
                    total += new
                    new, run, done = 0, run - 1, _64 * word + bit + _1
                    reach = lower(tally, reach, k)
                    words = left = np.uint64(0)
    return total + new >= k


@kernel
def skip(found: Any, words: Any, done: Any) -> Any:
    """Take the first `done` places of a run away: from `words`, and from the word they end in."""
    word = done >> np.uint64(6)
    if word == np.uint64(RUN):
        return np.uint64(0)
    words &= ~((_1 << word) - _1)
    found[word] &= ~((_1 << (done & np.uint64(63))) - _1)
    return words if found[word] else words & ~(_1 << word)


@kernel
def lower(tally: Any, reach: int, k: int) -> int:
    """How far an item may be that comes after those of the tally, to be one of the k nearest."""
    count = 0
    for distance in range(reach + 1):
        count += tally[distance]
        if count >= k:
            return distance - 1
    return reach


@kernel
def in_order(nearest: Any, tally: Any, reach: int, keys: Any) -> tuple[int, int]:
    """The nearest items into `keys` (k,), ascending; returns (the last distance, how many)."""
    k, count, distance = len(keys), 0, -1
    while count < k and distance < reach:
        distance += 1
        here = min(tally[distance], k - count)
        for at in range(here):
            keys[count + at] = key_of(distance, nearest[distance * (k + 1) + at])
        count += here
    return distance, count
