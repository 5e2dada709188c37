"""LinearScan: every chunk of planes is counted for every query. It can answer everything.

The k nearest of a scan: a threshold first, then the items that pass, then their order by counting.
The distances of a chunk stand in planes. Where more than k items pass, the k-th distance among
them is found bit by bit, by counting the items whose bit is zero (a radix select over planes), and
only k items are taken out. They wait in a pool in the order of their positions; a histogram of
their distances tells the k-th one so far. No two items are ever compared.

Every array that is handed to a kernel, in a tuple or not, and every variable for a field of a tuple
makes numba count a reference: five nanoseconds, so there are few of them where calls are many.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from xorec.core.bits import Words, popcount, trailing_zeros
from xorec.core.kernels import inlined, kernel
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Mask, no_filters
from xorec.search.hamming.list_kernels import key_of, unpack
from xorec.search.hamming.planes import (
    CHUNK_ITEMS,
    CHUNK_WORDS,
    count_at,
    count_chunk,
    levels_for,
    planes_in,
    set_planes,
    spread,
)
from xorec.search.hamming.segment import (
    Counted,
    Planes,
    QueryPlanes,
    Segment,
    Selection,
    SelectScratch,
    TieOrder,
    scan_cost,
)
from xorec.search.hamming.strategy import FindOne, Option, Sample, SearchStrategy
from xorec.search.hits import Nearest, Numbers, empty_nearest, map_parts, numbers_of

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

    counted, selection, scratch: see `segment`. Returns the distance that the next items must be
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


TOGETHER = 32
"""Queries that pass over a chunk of planes while it is in the cache."""
_ROOM = 1 << 17
"""Words that the open positions of a group may take, unless a few queries need more."""
_FEWEST = 4
CACHED = 1 << 14
"""Words of planes that stay in the cache while the queries of a group pass over them."""


@kernel
def exclude_rows(excluded: Any, order: Any, open_: Any, begin: int) -> None:
    """Clear the bits of excluded rows in open_[begin:], by tie position."""
    positions, first = order.positions, order.first
    for at in range(len(excluded)):
        row = np.int64(excluded[at]) - first
        if 0 <= row < len(positions):
            position = np.uint64(positions[row])
            bit = np.uint64(1) << (position & np.uint64(63))
            open_[np.uint64(begin) + (position >> np.uint64(6))] &= ~bit


@kernel
def scan(
    planes: Any, order: Any, open_: Any, queries: Any, which: Any, exclude: Any, nearest: Any
) -> None:
    """The nearest items of queries[which] into `nearest`.

    planes, order: see `segment`. open_ (chunks CHUNK_WORDS,): a bit for each item that a query may
    show. exclude: (indptr, indices), the rows that each query may not show besides.
    """
    (keys, counts), (indptr, indices) = nearest, exclude
    bits, masked, levels = planes.bits, planes.masked, levels_for(planes.farthest)
    farthest, each = planes.farthest, planes_in(planes)
    k, words, chunks = keys.shape[1], len(open_), len(open_) // CHUNK_WORDS
    group, free = group_of(which, indptr, words)
    ahead = each * CHUNK_WORDS if group == 1 else 0
    opened = open_ if free else np.empty(group * words, dtype=np.uint64)
    flips, added = np.empty((group, bits), dtype=np.uint64), np.full(group, bits)
    selection = Selection(
        np.empty((group, POOL * k), np.uint64),
        np.empty((group, farthest + 1), np.int64),
        np.empty((group, 3), np.int64),
    )
    counted = new_counted(farthest)
    scratch = SelectScratch(np.empty(CHUNK_WORDS, np.uint64), np.empty(farthest + 1, np.int64),
                            np.empty(k, np.uint64))  # fmt: skip
    size = max(1, CACHED // (each * CHUNK_WORDS))
    for begin in range(0, len(which), group):
        part = which[begin : begin + group]
        for at in range(len(part)):
            b = part[at]
            if masked is None:
                spread(queries[b], bits, flips[at])
            else:
                added[at] = set_planes(queries[b], bits, flips[at])
            if not free:
                opened[at * words : (at + 1) * words] = open_
                exclude_rows(indices[indptr[b] : indptr[b + 1]], order, opened, at * words)
            selection.tally[at] = 0
            selection.state[at, 0], selection.state[at, 1], selection.state[at, 2] = 0, 0, farthest
        for first in range(0, chunks, size):
            for at in range(len(part)):
                query = QueryPlanes(flips[at, : added[at]], masked, planes.lags)
                mask = opened[0 if free else at * words :]
                bound = selection.state[at, 2] + (selection.state[at, 1] < k)
                for chunk in range(first, min(chunks, first + size)):
                    position = np.uint64(chunk * CHUNK_WORDS)
                    start = position * np.uint64(each)
                    if count_chunk(planes, (start, position, ahead), query, bound, mask, counted):
                        items = chunk * CHUNK_ITEMS
                        bound = take(counted, levels, items, selection, at, scratch)
        for at in range(len(part)):
            b = part[at]
            counts[b] = sort_nearest(selection, at, scratch)
            for rank in range(counts[b]):
                keys[b, rank] = scratch.best[rank]


@inlined
def new_counted(farthest: int) -> Any:
    """See `Counted`."""
    counts = np.empty(levels_for(farthest) * CHUNK_WORDS, dtype=np.uint64)
    return Counted(counts, np.empty(CHUNK_WORDS, dtype=np.uint64))


@kernel
def group_of(which: Any, indptr: Any, words: int) -> tuple[int, bool]:
    """(queries that go over a chunk together, whether none of them excludes anything)."""
    free = True
    for at in range(len(which)):
        free &= indptr[which[at]] == indptr[which[at] + 1]
    most = TOGETHER if free else max(_FEWEST, min(TOGETHER, _ROOM // max(1, words)))
    return min(len(which), most), free


@kernel
def scan_one(arrays: Any, query: Any, excluded: Any, counts: Any, hits: Any) -> None:
    """`scan` and `unpack` for one query (1, W): a call costs as much as a search, so one does both.

    arrays: the fields of Planes and TieOrder and the open positions, as one plain tuple.
    """
    words, bits, masked, lags, farthest, rows, positions, first, open_ = arrays
    nearest = Nearest(np.empty(hits[0].shape, dtype=np.uint64), counts)
    exclude, which = (np.array([0, len(excluded)]), excluded), np.zeros(1, dtype=np.int64)
    planes = Planes(words, bits, masked, lags, farthest)
    order = TieOrder(rows, positions, first)
    scan(planes, order, open_, query, which, exclude, nearest)
    unpack(nearest, rows, bits, farthest - bits, hits)


@kernel
def scan_within(planes: Any, open_: Any, query: Any, radius: int, keys: Any) -> int:
    """The keys of all items within `radius`, in tie order, into `keys` as far as it goes.

    open_: as in `scan`. Returns how many there are, which may be more than `keys` holds.
    """
    bits, levels, count = planes.bits, levels_for(planes.farthest), 0
    flips = np.empty(bits, dtype=np.uint64)
    counted = new_counted(planes.farthest)
    if planes.masked is None:
        spread(query, bits, flips)
    else:
        flips = flips[: set_planes(query, bits, flips)]
    each = planes_in(planes)
    added, ahead = QueryPlanes(flips, planes.masked, planes.lags), each * CHUNK_WORDS
    for chunk in range(len(open_) // CHUNK_WORDS):
        position = np.uint64(chunk * CHUNK_WORDS)
        begin = position * np.uint64(each)
        if not count_chunk(planes, (begin, position, ahead), added, radius + 1, open_, counted):
            continue
        for word in range(CHUNK_WORDS):
            left = counted.found[word]
            while left:
                bit = trailing_zeros(left)
                left &= left - np.uint64(1)
                if count < len(keys):
                    at = chunk * CHUNK_ITEMS + 64 * word + np.int64(bit)
                    keys[count] = key_of(count_at(counted.counts, levels, word, bit), at)
                count += 1
    return count


START = 500.0
"""Nanoseconds of a query beside its items, about."""
_PIECE = 512
"""Queries of one call, at most: a call costs as much as a few of them."""
_FIRST_GUESS = 1_024


class LinearScan(SearchStrategy):
    """Bit-sliced: 256 items in one machine instruction, see `planes`."""

    name = "scan"

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        return [cls.option(segment)]

    @classmethod
    def option(cls, segment: Segment) -> Option:
        """The only one."""
        return Option(cls.name, cls.name, scan_cost(len(segment), segment.bits))

    def cost(self, queries: int, k: int) -> float:
        return queries * (START + scan_cost(len(self.segment), self.segment.bits))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest = empty_nearest(len(queries), k)
        self.fill(nearest, numbers_of(len(queries)), queries, filters, pool)
        return nearest

    def fill(
        self, nearest: Nearest, which: Numbers, queries: Words, filters: Filters, pool: ThreadPool
    ) -> None:
        """`nearest` for queries[which]."""
        if not len(which):
            return
        planes, order = self.segment.planes, self.segment.order
        open_, exclude = self.segment.open_positions(filters), filters.exclude

        def work(part: Numbers) -> None:
            scan(planes, order, open_, queries, part, exclude, nearest)

        map_parts(pool, which, _PIECE, work)

    def find_one(self, allow_mask: Mask) -> FindOne:
        open_ = self.segment.open_positions(no_filters(1, allow_mask))
        return partial(scan_one, (*self.segment.planes, *self.segment.order, open_))

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        planes, open_ = self.segment.planes, self.segment.open_positions(filters, filters.of(b))
        return collect(lambda keys: scan_within(planes, open_, query, radius, keys))


def collect(search: Callable[[Words], int]) -> Words:
    """All keys of a search that fills as much room as it gets and says how many there are."""
    room = _FIRST_GUESS
    while True:
        keys = np.empty(room, dtype=np.uint64)
        count = search(keys)
        if count <= room:
            return keys[:count]
        room = count
