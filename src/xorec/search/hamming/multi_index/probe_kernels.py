"""Multi-index hashing: look up the items whose code agrees with the query in some substring.

The bits are cut into T substrings with a table each. A code within distance r of the query is
within floor(r / T) of it in at least one substring, so the tables are probed in rings of growing
radius: once ring s of table t is done, everything within T s + t was seen (pigeonhole). The search
ends when the k-th distance is no more than that, so the whole tie at the k-th place was seen too.

Where items have offsets, each level has tables of its own (see `levels`), which are probed side by
side, each as far as its lag leaves; the items of scanned levels come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.batches import Nearest
from xorec.search.filters import Filters
from xorec.search.hamming.arrays import TieOrder
from xorec.search.hamming.exclusion_bitmap_kernels import (
    BITMAP_WORDS,
    MOST_EXCLUDED,
    fill_bitmap,
)
from xorec.search.hamming.list_kernels import distance_of, key_of, passes, unpack
from xorec.search.hamming.multi_index.buckets_kernels import (
    AT_ONCE,
    SPANS,
    list_full,
    scan_buckets,
)
from xorec.search.hamming.multi_index.pool_kernels import (
    FARTHEST,
    WITHIN,
    K,
    make_empty,
    pool_for,
    take_nearest,
)
from xorec.search.hamming.multi_index.scanned_kernels import (
    admit_first_heads,
    admit_next_heads,
    scratch_for,
)
from xorec.search.hamming.multi_index.tables import (
    BEGIN,
    BLOCK,
    ENTRY,
    FIRST,
    WIDTH,
    EntryFilter,
    HashTables,
    Table,
    substring,
)

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

    tables: `tables.HashTables`. order: `arrays.TieOrder`; its positions are used where the
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
        Table(cuts, tables.starts, tables.places, tables.copies),
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

    checks: `arrays.RowFilter`. Returns how many there are. All rings that `radius` needs must be in
    tables.rings.
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
