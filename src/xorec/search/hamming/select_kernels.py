"""The k nearest of a scan: a threshold first, then those that pass, then their order by counting.

The distances of a chunk stand in planes. Where more than k items pass, the k-th distance among
them is found bit by bit, by counting the items whose bit is zero (a radix select over planes), and
only k items are taken out. They wait in a pool in the order of their positions; a histogram of
their distances tells the k-th one so far. No two items are ever compared.

Every array that is handed to a kernel, in a tuple or not, and every variable for a field of a tuple
makes numba count a reference: five nanoseconds, so there are few of them where calls are many.
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
def count_found(counted: Any) -> Any:
    """How many items of the chunk are found."""
    count = np.uint64(0)
    for word in range(CHUNK_WORDS):
        count += popcount(counted.found[np.uint64(word)])
    return np.int64(count)


@kernel
def words_with_any(counted: Any) -> Any:
    """A bit for each word of counted.found that is not zero."""
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        some |= np.uint64(counted.found[w] != np.uint64(0)) << w
    return some


@kernel
def divide(counted: Any, scratch: Any, upper: Any, lower: Any, ones: Any) -> Any:
    """Divide the items of scratch.rest by their bit in the plane of counts that begins at `upper`.

    ones: all ones if those with a one remain, and those with a zero are found; all zeros if those
    with a zero remain. Returns how many of the remaining have a zero in the plane at `lower`.
    """
    count = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        here, bit = scratch.rest[w], counted.counts[upper + w]
        counted.found[w] |= here & ones & ~bit
        here &= ~(bit ^ ones)
        scratch.rest[w] = here
        count += popcount(here & ~counted.counts[lower + w])
    return count


@kernel
def narrow(counted: Any, levels: int, k: int, scratch: Any) -> None:
    """Keep the k nearest of counted.found, which has more: the first of the last tie."""
    zeros, lower, need = np.uint64(0), np.uint64((levels - 1) * CHUNK_WORDS), np.uint64(k)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        scratch.rest[w] = counted.found[w]
        zeros += popcount(counted.found[w] & ~counted.counts[lower + w])
        counted.found[w] = np.uint64(0)
    for level in range(levels - 1, -1, -1):
        ones = np.uint64(0)
        if zeros < need:
            need -= zeros
            ones = ~ones
        upper, lower = np.uint64(level * CHUNK_WORDS), np.uint64(max(0, level - 1) * CHUNK_WORDS)
        zeros = divide(counted, scratch, upper, lower, ones)
    for word in range(CHUNK_WORDS):
        left = scratch.rest[word]
        if popcount(left) >= need:
            for _ in range(need):
                left &= left - _1
            counted.found[word] |= left ^ scratch.rest[word]
            return
        counted.found[word] |= left
        need -= popcount(left)


@kernel
def take(counted: Any, levels: int, first: int, selection: Any, at: int, scratch: Any) -> Any:
    """Put what is found in the chunk whose first position is `first` into the pool of query `at`.

    counted, selection, scratch: see `arrays`. Returns the distance that the next items must be
    nearer than.
    """
    counts = counted.counts
    before, kept, threshold = selection.state[at, 0], selection.state[at, 1], selection.state[at, 2]
    more, k = count_found(counted), len(scratch.best)
    if more > k:
        narrow(counted, levels, k, scratch)
        more = k
    words = words_with_any(counted)
    for held in range(before, before + more):
        word = trailing_zeros(words)
        left = counted.found[word]
        bit = trailing_zeros(left)
        left &= left - _1
        counted.found[word] = left
        words ^= np.uint64(left == np.uint64(0)) << word
        distance = count_at(counts, levels, word, bit)
        selection.pool[at, held] = key_of(distance, np.uint64(first) + np.uint64(64) * word + bit)
        selection.tally[at, distance] += 1
    held = before + more
    kept += more
    while kept - selection.tally[at, threshold] >= k:
        kept -= selection.tally[at, threshold]
        threshold -= 1
    selection.state[at, 0], selection.state[at, 2] = held, threshold
    if held + k > selection.pool.shape[1]:
        held = sort_nearest(selection, at, scratch)
        for rank in range(held):
            selection.pool[at, rank] = scratch.best[rank]
        selection.tally[at, threshold] -= kept - held
        kept = selection.state[at, 0] = held
    selection.state[at, 1] = kept
    return threshold if kept >= k else threshold + 1


@kernel
def sort_nearest(selection: Any, at: int, scratch: Any) -> Any:
    """The nearest of the pool of query `at`, in order, into scratch.best (k,): a counting sort.

    Among equal distances the pool is in the order of positions. Returns how many there are.
    """
    held, threshold, before = selection.state[at, 0], selection.state[at, 2], 0
    for distance in range(threshold + 1):
        scratch.starts[distance] = before
        before += selection.tally[at, distance]
    for number in range(held):
        key = selection.pool[at, number]
        far = np.int64(key >> np.uint64(32))
        if far <= threshold:
            rank = scratch.starts[far]
            scratch.starts[far] = rank + 1
            if rank < len(scratch.best):
                scratch.best[rank] = key
    return min(before, len(scratch.best))
