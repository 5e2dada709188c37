"""The nearest so far, in any order: how many there are at each distance says what may still come.

A sorted list of 100 takes 50 ns for each of some hundred items that come and mostly go again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.bits import Words
from xorec.core.kernels import inlined, kernel
from xorec.search.batches import Numbers
from xorec.search.top_k_kernels import select

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
    size = pool.numbers[SIZE]
    kept = min(len(best), size)
    if kept < size:
        select(pool.keys, size, kept)
    pool.keys[:kept].sort()
    best[:kept] = pool.keys[:kept]
    return kept
