"""Multi-index hashing: look up the items whose code agrees with the query in some substring.

The bits are cut into T substrings with a table each. A code within distance r of the query is
within floor(r / T) of it in at least one substring, so the tables are probed in rings of growing
radius: once ring s of table t is done, everything within T s + t was seen (pigeonhole). The search
ends when the k-th distance is no more than that, so the whole tie at the k-th place was seen too.

Where items have lags, those of the least lags (popular items, few) are looked at first; every other
item is farther by `least_lag` at least, so the search ends that much earlier.
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
from xorec.search.hamming.multi_index.tables import EntryFilter, HashTables, Table
from xorec.search.hamming.multi_index.tables_kernels import substring

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
    (keys, counts), none, count_tables = nearest, filters.denied[:0], len(tables.widths)
    positions = order.positions if order.first == 0 else none
    k, rings, masks = keys.shape[1], tables.rings, tables.masks
    buckets, spans = np.empty(AT_ONCE + 1, np.int32), np.empty((SPANS, 2), np.int64)
    bitmap, out = np.zeros(BITMAP_WORDS, np.uint64), np.empty(MOST_EXCLUDED, np.int32)
    for at in range(len(which)):
        b = which[at]
        query, best = queries[b], keys[b]
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        denied, out_positions = filters.denied, out[:0]
        if 0 < len(excluded) + len(denied) <= min(MOST_EXCLUDED, len(positions)):
            out_positions = out[: fill_bitmap(excluded, denied, positions, bitmap, out)]
            excluded, denied = none, none
        checks = EntryFilter(
            order.rows, filters.allow_mask, excluded, denied, bitmap, out_positions
        )
        kept, cost, done = 0, 0.0, False
        if len(tables.heads):
            kept = scan_heads(tables, query, checks, best, buckets, spans)
            cost = CANDIDATE * len(query) * len(tables.heads)
            done = kept == k and np.int64(best[k - 1] >> np.uint64(32)) < tables.least_lag
        for ring in range(0 if done else len(rings)):
            for t in range(count_tables):
                key = substring(query, tables.begins[t], tables.widths[t])
                first, last = rings[ring, count_tables], rings[ring, count_tables] + rings[ring, t]
                cost += PROBE * (last - first)
                if cost > budget:
                    break
                full, before = tables.full[t], tables.before[t]
                starts = tables.starts[tables.firsts[t] : tables.firsts[t + 1]]
                places, copies, lags = tables.places[t], tables.copies[t], tables.lags[t]
                table = Table(starts, places, copies, lags, tables.least_lag)
                for begin in range(first, last, AT_ONCE):
                    part = masks[begin : min(last, begin + AT_ONCE)]
                    count = list_full(key, part, full, before, buckets)
                    kept, seen = scan_buckets(
                        buckets, count, table, query, checks, best, kept, spans
                    )
                    cost += BUCKET * count + CANDIDATE * len(query) * seen
                within = count_tables * ring + t + tables.least_lag
                if kept == k and np.int64(best[k - 1] >> np.uint64(32)) <= within:
                    done = True
                    break
            if done or cost > budget:
                break
        finished[b] = done
        counts[b] = kept


@kernel
def scan_heads(tables: Any, query: Any, checks: Any, best: Any, buckets: Any, spans: Any) -> Any:
    """Insert the heads, as one bucket, into `best`; returns how many are kept.

    checks: `tables.EntryFilter`; buckets, spans: scratch.
    """
    starts = np.array([0, len(tables.heads)], dtype=np.int32)
    table = Table(starts, tables.heads, tables.head_copies, tables.head_lags, 0)
    buckets[0] = 0
    kept, _ = scan_buckets(buckets, 1, table, query, checks, best, 0, spans)
    return kept


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
    count_tables, words, found = len(tables.widths), len(query), 0
    buckets = np.empty(AT_ONCE + 1, dtype=np.int32)
    for t in range(count_tables):
        key, copies = substring(query, tables.begins[t], tables.widths[t]), tables.copies[t]
        full, before, starts = tables.full[t], tables.before[t], tables.starts[tables.firsts[t] :]
        for ring in range(min((radius - t) // count_tables, tables.widths[t]) + 1):
            first = tables.rings[ring, count_tables]
            last = first + tables.rings[ring, t]
            for begin in range(first, last, AT_ONCE):
                masks = tables.masks[begin : min(last, begin + AT_ONCE)]
                for at in range(list_full(key, masks, full, before, buckets)):
                    for entry in range(starts[buckets[at]], starts[buckets[at] + 1]):
                        distance = distance_of(copies[entry * words : (entry + 1) * words], query)
                        position = tables.places[t, entry]
                        if np.int64(distance) <= radius and passes(position, checks):
                            if found < len(keys):
                                keys[found] = key_of(distance, position)
                            found += 1
    return found
