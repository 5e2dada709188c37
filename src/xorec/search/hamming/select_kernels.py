"""The k nearest of a scan: a threshold first, then those that pass, then their order by counting.

What a run has to offer stands in planes. Where that is more than k items, the k-th distance among
them is found bit by bit, by counting the items whose bit is zero (a radix select over planes), and
only k items are taken out. They wait in a pool in the order of their places; a histogram of their
distances tells the k-th one so far. No two items are ever compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, trailing_zeros
from xorec.core.kernels import kernel
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.planes_kernels import count_at
from xorec.search.nearest_kernels import key_of

POOL = 4
"""Room of a pool, in lists of k."""
_1, _RUN = np.uint64(1), np.uint64(RUN)


@kernel
def count_bits(words: Any) -> Any:
    """The set bits of RUN words."""
    count = np.uint64(0)
    for word in range(RUN):
        count += popcount(words[np.uint64(word)])
    return np.int64(count)


@kernel
def words_with_any(words: Any) -> Any:
    """A bit for each of RUN words that is not zero."""
    some = np.uint64(0)
    for word in range(RUN):
        w = np.uint64(word)
        some |= np.uint64(words[w] != np.uint64(0)) << w
    return some


@kernel
def divide(rest: Any, found: Any, total: Any, upper: Any, lower: Any, ones: Any) -> Any:
    """Divide the items of `rest` by their bit in one plane of `total`, which begins at `upper`.

    ones: all ones if those with a one remain, and those with a zero are found; all zeros if those
    with a zero remain. Returns how many of the remaining have a zero in the plane at `lower`.
    """
    count = np.uint64(0)
    for word in range(RUN):
        w = np.uint64(word)
        here, bit = rest[w], total[upper + w]
        found[w] |= here & ones & ~bit
        here &= ~(bit ^ ones)
        rest[w] = here
        count += popcount(here & ~total[lower + w])
    return count


@kernel
def narrow(total: Any, levels: int, found: Any, k: int, rest: Any) -> None:
    """Keep the k nearest of `found` (RUN,), which has more: the first of the last tie.

    total: their distances, in planes. rest (RUN,): scratch.
    """
    zeros, lower, need = np.uint64(0), np.uint64((levels - 1) * RUN), np.uint64(k)
    for word in range(RUN):
        w = np.uint64(word)
        rest[w] = found[w]
        zeros += popcount(found[w] & ~total[lower + w])
        found[w] = np.uint64(0)
    for level in range(levels - 1, -1, -1):
        ones = np.uint64(0)
        if zeros < need:
            need -= zeros
            ones = ~ones
        lower = np.uint64(max(0, level - 1) * RUN)
        zeros = divide(rest, found, total, np.uint64(level * RUN), lower, ones)
    for word in range(RUN):
        left = rest[word]
        if popcount(left) >= need:
            for _ in range(need):
                left &= left - _1
            found[word] |= left ^ rest[word]
            return
        found[word] |= left
        need -= popcount(left)


@kernel
def take(
    total: Any,
    levels: int,
    found: Any,
    first: int,
    pool: Any,
    tally: Any,
    state: Any,
    best: Any,
    rest: Any,
    starts: Any,
) -> Any:
    """Put what is `found` in a run whose first place is `first` into the pool of a query.

    Returns the distance that the next items must be nearer than. tally (bits + 1,): how many of
    the pool are at each distance. state: how many are held, how many of these are no farther than
    `reach`, and `reach`, the k-th distance once there are k. best (k,), rest (RUN,), starts (bits +
    1,): scratch.
    """
    held, kept, reach = state[0], state[1], state[2]
    k, before = len(best), held
    more = count_bits(found)
    if more > k:
        narrow(total, levels, found, k, rest)
        more = k
    words = words_with_any(found)
    for held in range(before, before + more):
        word = trailing_zeros(words)
        left = found[word]
        bit = trailing_zeros(left)
        left &= left - _1
        found[word] = left
        words ^= np.uint64(left == np.uint64(0)) << word
        distance = count_at(total, levels, word, bit)
        pool[held] = key_of(distance, np.uint64(first) + np.uint64(64) * word + bit)
        tally[distance] += 1
    held = before + more
    kept += more
    while kept - tally[reach] >= k:
        kept -= tally[reach]
        reach -= 1
    if held + k > len(pool):
        held = settle(pool, held, tally, reach, best, starts)
        pool[:held] = best[:held]
        tally[reach] -= kept - held
        kept = held
    state[0], state[1], state[2] = held, kept, reach
    return reach if kept >= k else reach + 1


@kernel
def settle(pool: Any, held: int, tally: Any, reach: int, best: Any, starts: Any) -> Any:
    """The nearest of pool[:held] that are no farther than `reach` into `best` (k,), in order.

    Among equal distances the pool is in the order of places. Returns how many there are. starts
    (bits + 1,): scratch.
    """
    before = 0
    for distance in range(reach + 1):
        starts[distance] = before
        before += tally[distance]
    for place in range(held):
        key = pool[place]
        far = np.int64(key >> np.uint64(32))
        if far <= reach:
            at = starts[far]
            starts[far] = at + 1
            if at < len(best):
                best[at] = key
    return min(before, len(best))
