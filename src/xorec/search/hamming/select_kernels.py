"""The k nearest of a scan: a threshold first, then those that pass, then their order by counting.

The distances of a chunk stand in planes. Where more than k items pass, the k-th distance among
them is found bit by bit, by counting the items whose bit is zero (a radix select over planes), and
only k items are taken out. They wait in a pool in the order of their positions; a histogram of
their distances tells the k-th one so far. No two items are ever compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, trailing_zeros
from xorec.core.kernels import kernel
from xorec.search.hamming.adders import CHUNK_WORDS
from xorec.search.hamming.list_kernels import key_of
from xorec.search.hamming.planes_kernels import count_at

POOL = 4
"""Room of a pool, in lists of k."""
_1 = np.uint64(1)


@kernel
def count_bits(words: Any) -> Any:
    """The set bits of CHUNK_WORDS words."""
    count = np.uint64(0)
    for word in range(CHUNK_WORDS):
        count += popcount(words[np.uint64(word)])
    return np.int64(count)


@kernel
def words_with_any(words: Any) -> Any:
    """A bit for each of CHUNK_WORDS words that is not zero."""
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        some |= np.uint64(words[w] != np.uint64(0)) << w
    return some


@kernel
def divide(rest: Any, found: Any, counts: Any, upper: Any, lower: Any, ones: Any) -> Any:
    """Divide the items of `rest` by their bit in one plane of `counts`, which begins at `upper`.

    ones: all ones if those with a one remain, and those with a zero are found; all zeros if those
    with a zero remain. Returns how many of the remaining have a zero in the plane at `lower`.
    """
    count = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        here, bit = rest[w], counts[upper + w]
        found[w] |= here & ones & ~bit
        here &= ~(bit ^ ones)
        rest[w] = here
        count += popcount(here & ~counts[lower + w])
    return count


@kernel
def narrow(counted: Any, levels: int, k: int, rest: Any) -> None:
    """Keep the k nearest of counted.found, which has more: the first of the last tie.

    rest (CHUNK_WORDS,): scratch.
    """
    counts, found = counted
    zeros, lower, need = np.uint64(0), np.uint64((levels - 1) * CHUNK_WORDS), np.uint64(k)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        rest[w] = found[w]
        zeros += popcount(found[w] & ~counts[lower + w])
        found[w] = np.uint64(0)
    for level in range(levels - 1, -1, -1):
        ones = np.uint64(0)
        if zeros < need:
            need -= zeros
            ones = ~ones
        lower = np.uint64(max(0, level - 1) * CHUNK_WORDS)
        zeros = divide(rest, found, counts, np.uint64(level * CHUNK_WORDS), lower, ones)
    for word in range(CHUNK_WORDS):
        left = rest[word]
        if popcount(left) >= need:
            for _ in range(need):
                left &= left - _1
            found[word] |= left ^ rest[word]
            return
        found[word] |= left
        need -= popcount(left)


@kernel
def take(counted: Any, levels: int, first: int, selection: Any, scratch: Any) -> Any:
    """Put what is found in the chunk whose first position is `first` into the pool of a query.

    counted, selection, scratch: see `arrays`. Returns the distance that the next items must be
    nearer than.
    """
    pool, tally, state, best = selection
    held, kept, threshold = state[0], state[1], state[2]
    k, before, found = len(best), held, counted.found
    more = count_bits(found)
    if more > k:
        narrow(counted, levels, k, scratch.rest)
        more = k
    words = words_with_any(found)
    for held in range(before, before + more):
        word = trailing_zeros(words)
        left = found[word]
        bit = trailing_zeros(left)
        left &= left - _1
        found[word] = left
        words ^= np.uint64(left == np.uint64(0)) << word
        distance = count_at(counted.counts, levels, word, bit)
        pool[held] = key_of(distance, np.uint64(first) + np.uint64(64) * word + bit)
        tally[distance] += 1
    held = before + more
    kept += more
    while kept - tally[threshold] >= k:
        kept -= tally[threshold]
        threshold -= 1
    state[0], state[1], state[2] = held, kept, threshold
    if held + k > len(pool):
        held = sort_nearest(selection, scratch.starts)
        pool[:held] = best[:held]
        tally[threshold] -= kept - held
        kept = held
        state[0], state[1] = held, kept
    return threshold if kept >= k else threshold + 1


@kernel
def sort_nearest(selection: Any, starts: Any) -> Any:
    """The nearest of the pool up to the threshold into `best` (k,), in order: a counting sort.

    Among equal distances the pool is in the order of positions. Returns how many there are. starts
    (bits + 1,): scratch.
    """
    pool, tally, state, best = selection
    held, threshold, before = state[0], state[2], 0
    for distance in range(threshold + 1):
        starts[distance] = before
        before += tally[distance]
    for at in range(held):
        key = pool[at]
        far = np.int64(key >> np.uint64(32))
        if far <= threshold:
            rank = starts[far]
            starts[far] = rank + 1
            if rank < len(best):
                best[rank] = key
    return min(before, len(best))
