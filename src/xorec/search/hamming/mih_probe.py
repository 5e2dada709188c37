"""Multi-index hashing: look up the items whose code agrees with the query in some substring.

The bits are cut into T substrings with a table each. A code within distance r of the query is
within floor(r / T) of it in at least one substring, so the tables are probed in rings of growing
radius: once ring s of table t is done, everything within T s + t was seen (pigeonhole). The search
ends when the k-th distance is no more than that, so the whole tie at the k-th place was seen too.

Where items have offsets, each level has tables of its own (`mih_tables`), which are probed side by
side, each as far as its lag leaves. The items of scanned levels come first: few that are near from
afar, counted in planes for every query, so the k-th distance is small from the start. What a query
may not show is asked of an item only when it would make the list: items are taken out of a chunk
nearest first, until the next one is too far.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.bits import Words, trailing_zeros
from xorec.core.kernels import kernel
from xorec.search.filters import Filters
from xorec.search.hamming.list_kernels import (
    BITMAP_WORDS,
    MOST_EXCLUDED,
    distance_of,
    fill_bitmap,
    key_of,
    passes,
    unpack,
)
from xorec.search.hamming.mih_buckets import (
    AT_ONCE,
    FARTHEST,
    SPANS,
    WITHIN,
    K,
    admit,
    list_full,
    make_empty,
    pool_for,
    scan_buckets,
    take_nearest,
)
from xorec.search.hamming.mih_tables import (
    BEGIN,
    BLOCK,
    ENTRY,
    FIRST,
    WIDTH,
    BucketTable,
    EntryFilter,
    HashTables,
    substring,
)
from xorec.search.hamming.planes import (
    CHUNK_ITEMS,
    CHUNK_WORDS,
    LAG_PLANES,
    count_at,
    count_chunk,
    levels_for,
    spread,
)
from xorec.search.hamming.segment import Counted, Planes, QueryPlanes, TieOrder
from xorec.search.hits import Nearest, Numbers

_WAITING = 64
"""Heads that are admitted in one call."""


class HeadScratch(NamedTuple):
    """The heads of one query, chunk by chunk.

    open_ (chunks CHUNK_WORDS,): a bit for each head. flips (bits,): of the query. counts (chunks,
    levels CHUNK_WORDS): their distances, lags and all, in planes. left (chunks, CHUNK_WORDS): a bit
    for each that was not admitted yet. found (CHUNK_WORDS,), entries (_WAITING, 2): scratch.
    """

    open_: Words
    flips: Words
    counts: Words
    left: Words
    found: Words
    entries: Numbers


@kernel
def scratch_for(head_planes: Any, heads: Any, bits: int, most: int) -> Any:
    """Room for the heads; None where there are no planes."""
    if head_planes is None:
        return None
    chunks = -(-len(heads) // CHUNK_ITEMS)
    open_ = np.full(chunks * CHUNK_WORDS, ~np.uint64(0), dtype=np.uint64)
    last = len(heads) >> 6
    if last < len(open_):
        open_[last] = (np.uint64(1) << np.uint64(len(heads) & 63)) - np.uint64(1)
        open_[last + 1 :] = 0
    return HeadScratch(
        open_,
        np.empty(bits, np.uint64),
        np.empty((chunks, levels_for(bits + most) * CHUNK_WORDS), np.uint64),
        np.empty((chunks, CHUNK_WORDS), np.uint64),
        np.empty(CHUNK_WORDS, np.uint64),
        np.empty((_WAITING, 2), np.int64),
    )


@kernel
def admit_first_heads(
    head_planes: Any,
    heads: Any,
    farthest: Any,
    query: Any,
    within: Any,
    checks: Any,
    pool: Any,
    room: Any,
) -> None:
    """Count the distances of all heads, and add those up to `within` to the nearest so far.

    head_planes, heads: of `HashTables`; checks: `mih_tables.EntryFilter`; pool:
    `Pool`; room: HeadScratch.
    """
    if room is None:
        return
    bits = len(room.flips)
    lags = bits * CHUNK_WORDS
    planes = Planes(head_planes, bits, None, lags, farthest)
    spread(query, bits, room.flips)
    flips, bound = QueryPlanes(room.flips, None, lags), min(within, farthest) + 1
    open_, found = room.open_, room.found
    for chunk in range(len(room.left)):
        position, counted = np.uint64(chunk * CHUNK_WORDS), Counted(room.counts[chunk], found)
        start = position * np.uint64(bits + LAG_PLANES)
        some = count_chunk(planes, (start, position, 0), flips, bound, open_, counted)
        left = room.left[chunk]
        for word in range(CHUNK_WORDS):
            w = np.uint64(word)
            left[w] = open_[position + w] ^ found[w]
        if some:
            admit_found(room, chunk, heads, checks, pool)


@kernel
def admit_next_heads(room: Any, heads: Any, within: Any, checks: Any, pool: Any) -> None:
    """Add the heads that are left up to the distance `within` to the nearest so far."""
    if room is None:
        return
    for chunk in range(len(room.left)):
        if take_within(room.counts[chunk], within, room.left[chunk], room.found):
            admit_found(room, chunk, heads, checks, pool)


@kernel
def admit_found(room: Any, chunk: int, heads: Any, checks: Any, pool: Any) -> None:
    """Add the heads of room.found to the nearest so far."""
    counts, entries, found, waits = room.counts[chunk], room.entries, room.found, 0
    levels, words = len(counts) // CHUNK_WORDS, np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        words |= np.uint64(found[w] != np.uint64(0)) << w
    while words:
        word = trailing_zeros(words)
        left = found[word]
        bit = trailing_zeros(left)
        left &= left - np.uint64(1)
        found[word] = left
        words ^= np.uint64(left == np.uint64(0)) << word
        entries[waits, 0] = np.int64(np.uint64(64) * word + bit) + chunk * CHUNK_ITEMS
        entries[waits, 1] = count_at(counts, levels, word, bit)
        waits += entries[waits, 1] <= pool.numbers[FARTHEST]
        if waits == _WAITING:
            admit(entries, waits, heads, checks, pool)
            waits = 0
    admit(entries, waits, heads, checks, pool)


@kernel
def take_within(counts: Any, within: Any, left: Any, found: Any) -> Any:
    """Move the items of a chunk whose count is at most `within` from `left` to `found`.

    counts: in planes; compared bit by bit, the lowest first. Returns whether there are any.
    """
    levels = len(counts) // CHUNK_WORDS
    least = min(np.int64(within), (np.int64(1) << levels) - 1)
    for word in range(CHUNK_WORDS):
        found[np.uint64(word)] = ~np.uint64(0)
    for level in range(levels):
        plane, ones = np.uint64(level * CHUNK_WORDS), np.uint64(0)
        if (least >> level) & 1:
            ones = ~ones
        for word in range(CHUNK_WORDS):
            w = np.uint64(word)
            zero = ~counts[plane + w]
            found[w] = (found[w] & (zero | ones)) | (zero & ones)
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        found[w] &= left[w]
        left[w] ^= found[w]
        some |= found[w]
    return some != np.uint64(0)


PROBE, BUCKET, CANDIDATE = 2.5, 14.0, 1.7
"""What a probe, a bucket that is not empty and a word of a candidate cost, in ns, about."""


@kernel
def probe(
    tables: Any,
    order: Any,
    queries: Any,
    which: Any,
    filters: Any,
    budget: float,
    nearest: Any,
    finished: Any,
) -> None:
    """The nearest items of queries[which] into `nearest`.

    tables: `HashTables`. order: `segment.TieOrder`; its positions are used where the
    first row is 0. finished[b] is false where the rings would cost more than `budget`
    (nanoseconds): that query must be scanned.
    """
    (keys, counts), none, cuts = nearest, filters.denied[:0], tables.cuts
    positions = order.positions if order.first == 0 else none
    bits = cuts[-1, BEGIN] + cuts[-1, WIDTH]
    buckets, spans = np.empty((2, AT_ONCE + 1), np.int32), np.empty((SPANS, 3), np.int64)
    bitmap, out = np.zeros(BITMAP_WORDS, np.uint64), np.empty(MOST_EXCLUDED, np.int32)
    room = scratch_for(tables.head_planes, tables.heads, bits, tables.most)
    scratch = (buckets, spans, room)
    pool = pool_for(keys.shape[1], bits + tables.most)
    for at in range(len(which)):
        b = which[at]
        query = queries[b]
        make_empty(pool)
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        denied, out_positions = filters.denied, out[:0]
        if 0 < len(excluded) + len(denied) <= min(MOST_EXCLUDED, len(positions)):
            out_positions = out[: fill_bitmap(excluded, denied, positions, bitmap, out)]
            excluded, denied = none, none
        checks = EntryFilter(
            order.rows, filters.allow_mask, excluded, denied, bitmap, out_positions
        )
        finished[b] = probe_levels(tables, query, checks, budget, pool, scratch)
        counts[b] = take_nearest(pool, keys[b])


@kernel
def probe_levels(
    tables: Any, query: Any, checks: Any, budget: Any, pool: Any, scratch: Any
) -> bool:
    """The nearest items into `pool`; returns whether nothing else can be nearer.

    Step e looks at one ring of one table of each level that has a lag of at most e: then all items
    at effective distance e were seen. scratch: (buckets, spans, HeadScratch).
    """
    cuts, levels, rings, masks = tables.cuts, tables.levels, tables.rings, tables.masks
    table, (buckets, spans, room) = (
        BucketTable(cuts, tables.starts, tables.places, tables.copies),
        scratch,
    )
    cost, step, count_tables = 0.0, levels[0, 2], len(cuts)
    together, farthest = 1 + levels[-1, 1], cuts[-1, BEGIN] + cuts[-1, WIDTH] + tables.most
    ahead, heads = step + together - 1, tables.heads
    admit_first_heads(tables.head_planes, heads, farthest, query, ahead, checks, pool, room)
    while True:
        if step > ahead:
            ahead += together
            admit_next_heads(room, heads, ahead, checks, pool)
        count = 0
        for level in range(len(levels)):
            radius = step - levels[level, 2]
            if radius < 0:
                break
            ring, t = divmod(radius, levels[level, 1])
            if ring >= len(rings):
                return False
            t += levels[level, 0]
            first = rings[ring, count_tables]
            end = first + rings[ring, t]
            cost += PROBE * (end - first)
            if cost > budget:
                return False
            key = substring(query, cuts[t, BEGIN], cuts[t, WIDTH])
            full, before = tables.full[cuts[t, BLOCK] :], tables.before[cuts[t, BLOCK] :]
            while first < end:
                last = min(end, first + AT_ONCE - count)
                more = list_full(key, masks[first:last], full, before, buckets[0, count:])
                for at in range(count, count + more):
                    buckets[0, at] += cuts[t, FIRST]
                    buckets[1, at] = t
                first = last
                count += more
                if count > AT_ONCE // 2:
                    seen = scan_buckets(buckets, count, table, query, checks, pool, spans)
                    cost += BUCKET * count + CANDIDATE * len(query) * seen
                    count = 0
        if count:
            seen = scan_buckets(buckets, count, table, query, checks, pool, spans)
            cost += BUCKET * count + CANDIDATE * len(query) * seen
        if pool.numbers[WITHIN] >= pool.numbers[K] and pool.numbers[FARTHEST] <= step:
            return True
        step += 1


@kernel
def probe_one(
    arrays: Any, bits: int, budget: float, query: Any, excluded: Any, counts: Any, hits: Any
) -> Any:
    """`probe` and `unpack` for one query (1, W); false where it must be scanned.

    arrays: (the fields of HashTables, those of TieOrder, the allow mask), plain tuples.
    """
    tables, order, allow_mask = HashTables(*arrays[0]), TieOrder(*arrays[1]), arrays[2]
    nearest = Nearest(np.empty(hits[0].shape, dtype=np.uint64), counts)
    filters = Filters(np.array([0, len(excluded)]), excluded, excluded[:0], allow_mask)
    finished = np.zeros(1, dtype=np.bool_)
    probe(tables, order, query, np.zeros(1, np.int64), filters, budget, nearest, finished)
    if finished[0]:
        unpack(nearest, order.rows, bits, tables.most, hits)
    return finished[0]


@kernel
def probe_within(tables: Any, query: Any, radius: int, checks: Any, keys: Any) -> int:
    """The keys of all items within `radius`, some more than once, as far as `keys` goes.

    checks: `segment.RowFilter`. Returns how many there are. All rings that `radius` needs must be
    in tables.rings.
    """
    count_tables, words, found, cuts = len(tables.cuts), len(query), 0, tables.cuts
    buckets = np.empty(AT_ONCE + 1, dtype=np.int32)
    for t in range(count_tables):
        key = substring(query, cuts[t, BEGIN], cuts[t, WIDTH])
        full, before = tables.full[cuts[t, BLOCK] :], tables.before[cuts[t, BLOCK] :]
        for ring in range(min((radius - t) // count_tables, cuts[t, WIDTH]) + 1):
            first = tables.rings[ring, count_tables]
            last = first + tables.rings[ring, t]
            for begin in range(first, last, AT_ONCE):
                masks = tables.masks[begin : min(last, begin + AT_ONCE)]
                for at in range(list_full(key, masks, full, before, buckets)):
                    number = cuts[t, FIRST] + buckets[at]
                    for near in range(tables.starts[number], tables.starts[number + 1]):
                        entry = cuts[t, ENTRY] + near
                        code = tables.copies[entry * words : (entry + 1) * words]
                        distance, position = distance_of(code, query), tables.places[entry]
                        if np.int64(distance) <= radius and passes(position, checks):
                            if found < len(keys):
                                keys[found] = key_of(distance, position)
                            found += 1
    return found
