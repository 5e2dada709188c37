"""SevenBitTables: the search for large batches of short codes, by look-up tables of the batch.

Queries are sorted by code. Neighbours in that order are similar: they read the same parts of the
tables, which are in the cache, and the k-th distance of one is the first threshold of the next, so
nearly all items are skipped from the first chunk on. If fewer than k items are within the
threshold, the query is scanned again with a higher one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import empty_aligned
from xorec.core.bits import Words, popcount, prefetch, trailing_zeros
from xorec.core.kernels import inlined, kernel
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters
from xorec.search.hamming.list_kernels import key_of
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, LAG_PLANES, TOO_LONG_FOR_FEW
from xorec.search.hamming.scan import LinearScan, exclude_rows
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.seven_bit_tables import (
    FEW_PARTS,
    MANY_PARTS,
    PLANES,
    few_far,
    few_far_lagged,
    few_near,
    few_near_lagged,
    fill_tables,
    find_offsets,
    many_far,
    many_far_lagged,
    many_near,
    many_near_lagged,
    parts_for,
    table_words,
)
from xorec.search.hamming.strategy import SearchStrategy
from xorec.search.hits import Nearest, Numbers, empty_nearest, map_parts

_NEAR = 1 << PLANES
_LINE = 16
"""Excluded rows (int32) in one cache line."""
_MORE = 10
"""The threshold is lowered whenever k + _MORE items have come since the last time."""
_1, _64 = np.uint64(1), np.uint64(64)


class LookUp(NamedTuple):
    """See `seven_bit_tables.fill_tables`: the tables of all chunks, and the items' codes.

    farthest: the largest distance, with lags (see `segment`); `bits` if items have none.
    """

    tables: Words
    codes: npt.NDArray[np.uint32]
    bits: int
    farthest: int


class DistanceBuckets(NamedTuple):
    """A query's items by distance. tally (farthest + 1,): how many each distance has. nearest
    ((farthest + 1) (k + 1),): positions of the first k of each, and a slot for any further one.
    """

    nearest: npt.NDArray[np.uint32]
    tally: npt.NDArray[np.int64]


@kernel
def scan_lut(
    luts: Any, order: Any, open_: Any, queries: Any, which: Any, exclude: Any, nearest: Any
) -> None:
    """The nearest items of queries[which] into `nearest`.

    luts: `LookUp`. The rest as in `scan.scan`.
    """
    (keys, counts), (indptr, indices), bits = nearest, exclude, luts.bits
    k, farthest = keys.shape[1], luts.farthest
    opened, found = open_.copy(), np.empty(CHUNK_WORDS, dtype=np.uint64)
    offsets = np.empty(parts_for(bits) + (farthest > bits), dtype=np.uint64)
    slots = np.empty((farthest + 1) * (k + 1), np.uint32)
    gathered = DistanceBuckets(slots, np.empty(farthest + 1, np.int64))
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
        threshold, counts[b] = take_nearest(gathered, threshold, keys[b])


@inlined
def look_up(
    tables: Any, begin: Any, offsets: Any, threshold: int, open_: Any, position: Any, found: Any
) -> Any:
    """Calls the function of `seven_bit_tables` for this number of parts and threshold."""
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
def gather(chunked: Any, query: Any, threshold: int, k: int, gathered: Any) -> bool:
    """Sort the open items within `threshold` of a query by distance; returns whether there are k.

    chunked: the tables of all chunks and more, see `scan_lut`. When many items have come, the
    threshold falls below the k-th distance so far, for the items that follow.
    """
    tables, codes, bits, offsets, open_, found = chunked
    own = (_1 << bits) - _1
    chunks = len(open_) // CHUNK_WORDS
    size, width, most = len(tables) // max(1, chunks), np.uint64(k + 1), k + _MORE
    gathered.tally[: threshold + 1] = 0
    chunk, done, new, total = 0, np.uint64(0), 0, 0
    while chunk < chunks and threshold >= 0:
        begin, position = np.uint64(chunk * size), np.uint64(chunk * CHUNK_WORDS)
        words = look_up(tables, begin, offsets, threshold, open_, position, found)
        if done:
            words = clear_first(found, words, done)
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
                    threshold = lower_threshold(gathered, threshold, k)
                    words = left = np.uint64(0)
    return total + new >= k


@kernel
def clear_first(found: Any, words: Any, done: Any) -> Any:
    """Clear the first `done` items of a chunk, in `words` and in the word they end in."""
    word = done >> np.uint64(6)
    if word == np.uint64(CHUNK_WORDS):
        return np.uint64(0)
    words &= ~((_1 << word) - _1)
    found[word] &= ~((_1 << (done & np.uint64(63))) - _1)
    return words if found[word] else words & ~(_1 << word)


@kernel
def lower_threshold(gathered: Any, threshold: int, k: int) -> int:
    """The largest distance at which a further item can still be one of the k nearest."""
    count = 0
    for distance in range(threshold + 1):
        count += gathered.tally[distance]
        if count >= k:
            return distance - 1
    return threshold


@kernel
def take_nearest(gathered: Any, threshold: int, keys: Any) -> tuple[int, int]:
    """Write the nearest items to `keys` (k,), ascending; returns (last distance, count)."""
    k, count, distance = len(keys), 0, -1
    while count < k and distance < threshold:
        distance += 1
        here = min(gathered.tally[distance], k - count)
        for at in range(here):
            keys[count + at] = key_of(distance, gathered.nearest[distance * (k + 1) + at])
        count += here
    return distance, count


MEMORY = 1 << 24
"""Bytes that the tables of a batch may take."""
_START, _ITEM, _WORD = 250.0, 0.047, 0.7
"""Approximate nanoseconds: of a query, of an item scanned for it, of a word of the tables."""
_PIECE = 512
"""Queries of one call, at most: the first of them starts with the largest threshold."""


class SevenBitTables(SearchStrategy):
    """Codes of up to 30 bits: see `seven_bit_tables`. A radius search is a linear scan."""

    name = "lut"
    per_batch = True

    @classmethod
    def refusal(cls, segment: Segment) -> str:
        if segment.planes.masked:
            return "masks hide bits that look-up tables go by"
        return "" if segment.planes.farthest < TOO_LONG_FOR_FEW else "the codes are too long"

    def cost(self, queries: int, k: int) -> float:
        words = chunks_of(len(self.segment)) * table_words(self.segment.bits, self._lag_planes)
        if not words or 8 * words > MEMORY:
            return float("inf")
        return float(queries * (_START + _ITEM * len(self.segment)) + _WORD * words)

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest, order = empty_nearest(len(queries), k), self.segment.order
        luts, open_ = self._make(pool), self.segment.open_positions(filters)
        exclude = filters.exclude

        def work(part: Numbers) -> None:
            scan_lut(luts, order, open_, queries, part, exclude, nearest)

        map_parts(pool, order_by_code(queries), _PIECE, work)
        return nearest

    @property
    def _lag_planes(self) -> int:
        return LAG_PLANES if self.segment.planes.lags else 0

    def _make(self, pool: ThreadPool) -> LookUp:
        """Fill the tables of all chunks, by all threads."""
        planes, bits, lag_planes = self.segment.planes.words, self.segment.bits, self._lag_planes
        chunks = chunks_of(len(self.segment))
        tables = empty_aligned((chunks * table_words(bits, lag_planes),), np.uint64)
        codes = np.empty(chunks * CHUNK_ITEMS, dtype=np.uint32)

        def fill(begin: int, end: int) -> None:
            fill_tables(planes, bits, lag_planes, begin, end, tables, codes)

        pool.map_ranges(chunks, fill)
        return LookUp(tables, codes, bits, self.segment.planes.farthest)

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        return LinearScan(self.segment).within(query, radius, filters, b)


def chunks_of(items: int) -> int:
    """The number of chunks that hold so many items."""
    return -(-items // CHUNK_ITEMS)


def order_by_code(queries: Words) -> Numbers:
    """The indices that sort queries (B, 1) by their codes, which are shorter than 32 bits."""
    numbers = np.arange(len(queries), dtype=np.uint64)
    order = np.sort((queries[:, 0] << np.uint64(32)) | numbers)
    return (order & np.uint64(0xFFFFFFFF)).astype(np.int64)
