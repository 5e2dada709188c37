"""The scan by look-up tables: for many queries at once, in the order of their codes.

Neighbours in that order are alike. They look at the same parts of the tables, which are in the
cache, and the k-th distance of one is a good guess for the next: nearly all items are passed over
from the first chunk on. Where a guess was too low, the query is scanned again with a higher one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, popcount, prefetch, trailing_zeros
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.adders import CHUNK_WORDS
from xorec.search.hamming.list_kernels import key_of
from xorec.search.hamming.scan_kernels import exclude_rows
from xorec.search.hamming.seven_bits.adders import (
    FEW_PARTS,
    MANY_PARTS,
    PLANES,
    few_far,
    few_far_lagged,
    few_near,
    few_near_lagged,
    many_far,
    many_far_lagged,
    many_near,
    many_near_lagged,
)
from xorec.search.hamming.seven_bits.tables_kernels import find_offsets, parts_for

_NEAR = 1 << PLANES
_LINE = 16
"""Rows of a seen list in one line of the cache."""
_MORE = 10
"""So many items more than k have come since the threshold was lowered: now it is worth it again."""
_1, _64 = np.uint64(1), np.uint64(64)


class LookUp(NamedTuple):
    """See `tables_kernels.fill_tables`: the tables of all chunks, and the items' codes.

    farthest: the largest distance, lags and all; it is `bits` where items have none.
    """

    tables: Words
    codes: npt.NDArray[np.uint32]
    bits: int
    farthest: int


class Gathered(NamedTuple):
    """tally (farthest + 1,): how many items were gathered at each distance. nearest ((farthest + 1)
    (k + 1),): the positions of the first k of each distance, and room for one that is not needed.
    """

    nearest: npt.NDArray[np.uint32]
    tally: npt.NDArray[np.int64]


@kernel
def scan_lut(
    luts: Any, order: Any, open_: Any, queries: Any, which: Any, exclude: Any, nearest: Any
) -> None:
    """The nearest items of queries[which] into `nearest`.

    luts: `LookUp`. The rest as in `scan_kernels.scan`.
    """
    (keys, counts), (indptr, indices), bits = nearest, exclude, luts.bits
    k, farthest = keys.shape[1], luts.farthest
    opened, found = open_.copy(), np.empty(CHUNK_WORDS, dtype=np.uint64)
    offsets = np.empty(parts_for(bits) + (farthest > bits), dtype=np.uint64)
    places = np.empty((farthest + 1) * (k + 1), np.uint32)
    gathered = Gathered(places, np.empty(farthest + 1, np.int64))
    chunks = (luts.tables, luts.codes, np.uint64(bits), offsets, opened, found)
    threshold, closed = farthest, False
    for at in range(len(which)):
        b, query = which[at], queries[which[at], 0]
        if at + 4 < len(which):
            prefetch(indptr, which[at + 4])
            soon = indptr[which[at + 2]]
            for line in range(3):
                prefetch(indices, soon + line * _LINE)
        if closed:
            for word in range(len(open_)):  # five times as fast as a slice
                opened[word] = open_[word]
        excluded = indices[indptr[b] : indptr[b + 1]]
        closed = len(excluded) > 0
        exclude_rows(excluded, order, opened, 0)
        find_offsets(query, bits, offsets)
        step = 1
        while not gather(chunks, query, threshold, k, gathered) and threshold < farthest:
            threshold = min(farthest, threshold + step)
            step += step
        threshold, counts[b] = in_order(gathered, threshold, keys[b])


@inlined
def look_up(
    tables: Any, begin: Any, offsets: Any, threshold: int, open_: Any, position: Any, found: Any
) -> Any:
    """`adders.look_up` for so many parts and this threshold."""
    if len(offsets) == FEW_PARTS:
        if threshold < _NEAR:
            return few_near(tables, begin, offsets, threshold, open_, position, found)
        return few_far(tables, begin, offsets, threshold, open_, position, found)
    if len(offsets) == FEW_PARTS + 1:
        if threshold < _NEAR:
            return few_near_lagged(tables, begin, offsets, threshold, open_, position, found)
        return few_far_lagged(tables, begin, offsets, threshold, open_, position, found)
    if len(offsets) == MANY_PARTS:
        if threshold < _NEAR:
            return many_near(tables, begin, offsets, threshold, open_, position, found)
        return many_far(tables, begin, offsets, threshold, open_, position, found)
    if threshold < _NEAR:
        return many_near_lagged(tables, begin, offsets, threshold, open_, position, found)
    return many_far_lagged(tables, begin, offsets, threshold, open_, position, found)


@kernel
def gather(chunks_of: Any, query: Any, threshold: int, k: int, gathered: Any) -> bool:
    """Sort the open items within `threshold` of a query by distance; returns whether there are k.

    When many have come, the threshold is lowered: only what k of them leave open is looked for from
    there on.
    """
    tables, codes, bits, offsets, open_, found = chunks_of
    own = (_1 << bits) - _1
    chunks = len(open_) // CHUNK_WORDS
    size, width, most = len(tables) // max(1, chunks), np.uint64(k + 1), k + _MORE
    gathered.tally[: threshold + 1] = 0
    chunk, done, new, total = 0, np.uint64(0), 0, 0
    while chunk < chunks and threshold >= 0:
        begin, position = np.uint64(chunk * size), np.uint64(chunk * CHUNK_WORDS)
        words = look_up(tables, begin, offsets, threshold, open_, position, found)
        if done:
            words = skip(found, words, done)
            done = np.uint64(0)
        chunk += 1
        while words:
            word = trailing_zeros(words)
            words &= words - _1
            left = found[word]
            while left:
                bit = trailing_zeros(left)
                left &= left - _1
                item = (position + word) * _64 + bit
                code = np.uint64(codes[item])
                distance = popcount((code ^ query) & own) + (code >> bits)
                there = gathered.tally[distance]
                gathered.nearest[distance * width + np.uint64(min(there, k))] = item
                gathered.tally[distance] = there + 1
                new += 1
                if new == most:  # the rest of this chunk, with a lower threshold
                    total += new
                    new, chunk, done = 0, chunk - 1, _64 * word + bit + _1
                    threshold = lower(gathered, threshold, k)
                    words = left = np.uint64(0)
    return total + new >= k


@kernel
def skip(found: Any, words: Any, done: Any) -> Any:
    """Take the first `done` items of a chunk away: from `words`, and from the word they end in."""
    word = done >> np.uint64(6)
    if word == np.uint64(CHUNK_WORDS):
        return np.uint64(0)
    words &= ~((_1 << word) - _1)
    found[word] &= ~((_1 << (done & np.uint64(63))) - _1)
    return words if found[word] else words & ~(_1 << word)


@kernel
def lower(gathered: Any, threshold: int, k: int) -> int:
    """How far an item may be that comes after those of the tally, to be one of the k nearest."""
    count = 0
    for distance in range(threshold + 1):
        count += gathered.tally[distance]
        if count >= k:
            return distance - 1
    return threshold


@kernel
def in_order(gathered: Any, threshold: int, keys: Any) -> tuple[int, int]:
    """The nearest items into `keys` (k,), ascending; returns (the last distance, how many)."""
    k, count, distance = len(keys), 0, -1
    while count < k and distance < threshold:
        distance += 1
        here = min(gathered.tally[distance], k - count)
        for at in range(here):
            keys[count + at] = key_of(distance, gathered.nearest[distance * (k + 1) + at])
        count += here
    return distance, count
