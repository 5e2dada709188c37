"""Multi-index hashing: look up the items whose code agrees with the query in some substring.

The bits are cut into T substrings with a table each. A code within distance r of the query is
within floor(r / T) of it in at least one substring, so the tables are probed in rings of growing
radius: once ring s of table t is done, everything within T s + t was seen (pigeonhole). The search
ends when the k-th distance is no more than that, so the whole tie at the k-th place was seen too.

A probe reads one bit of a map of the buckets that hold anything, which fits a fast cache; only
full buckets go further, by their number among the full ones (counted in the map), and their lines
are fetched a few buckets ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount, prefetch
from xorec.core.kernels import kernel
from xorec.search.hamming.buckets_kernels import substring
from xorec.search.hamming.exclusion_kernels import FEW, VEIL, draw_veil, veiled
from xorec.search.nearest_kernels import key_of, may_show, offer

AT_ONCE = 512
"""Buckets that are listed before they are looked into."""
_NEAR, _FAR, _AHEAD = 8, 24, 64
"""Buckets ahead that words and starts are fetched, and words of a bucket."""
WAITING = 6
"""Candidates that wait together for the lines of their places."""
PROBE, BUCKET, CANDIDATE = 2.5, 14.0, 1.7
"""What a probe, a bucket that is not empty and a word of a candidate cost, in ns, about."""


@kernel
def list_full(key: Any, masks: Any, full: Any, before: Any, found: Any) -> Any:
    """Which of the full buckets the buckets key ^ mask are, into `found`; returns how many."""
    count = np.int64(0)
    for at in range(len(masks)):
        bucket = key ^ masks[at]
        word, bit = bucket >> np.uint32(6), np.uint64(bucket & np.uint32(63))
        here = full[word]
        found[count] = before[word] + np.int32(
            popcount(here & ((np.uint64(1) << bit) - np.uint64(1)))
        )
        count += np.int64((here >> bit) & np.uint64(1))
    return count


@kernel
def admit(
    waiting: Any,
    waits: int,
    places: Any,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    veil: Any,
    hidden: Any,
    best: Any,
    kept: int,
) -> int:
    """Offer waiting[:waits] (entry, distance) to best[:kept]; returns how many are kept.

    They waited while the lines of their places came; where rows are filtered, those come next.
    """
    if len(excluded) or len(denied):
        for at in range(waits):
            prefetch(rows, places[waiting[at, 0]])
    for at in range(waits):
        place = places[waiting[at, 0]]
        key = key_of(waiting[at, 1], place)
        if kept == len(best) and key >= best[kept - 1]:
            continue
        if veiled(place, veil, hidden):
            continue
        if may_show(place, rows, shown, excluded, denied):
            kept = offer(best, kept, key)
    return kept


@kernel
def look_into(
    buckets: Any,
    count: int,
    starts: Any,
    places: Any,
    copies: Any,
    query: Any,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    veil: Any,
    hidden: Any,
    best: Any,
    kept: int,
    spans: Any,
    waiting: Any,
) -> tuple[int, Any]:
    """Offer what stands in the full buckets buckets[:count]; (how many are kept, candidates).

    best[:kept]: the nearest so far. spans (AT_ONCE, 2), waiting (WAITING, 2): scratch.
    """
    seen, waits, words, first = np.int64(0), 0, len(query), query[0]
    reach = reach_of(best, kept)
    for at in range(min(_FAR, count)):
        prefetch(starts, buckets[at])
    for at in range(count + _NEAR):
        if at + _FAR < count:
            prefetch(starts, buckets[at + _FAR])
        if at < count:
            begin = np.int64(starts[buckets[at]])
            spans[at, 0], spans[at, 1] = begin, starts[buckets[at] + 1]
            last = min(spans[at, 1] * words, begin * words + _AHEAD)
            for line in range(begin * words, last, 8):
                prefetch(copies, line)
        if at < _NEAR:
            continue
        entry, end = np.uint64(spans[at - _NEAR, 0]), np.uint64(spans[at - _NEAR, 1])
        seen += np.int64(end - entry)
        while True:
            if words == 1:
                entry = next_near_word(copies, entry, end, first, reach)
            else:
                entry = next_near(copies, entry, end, query, reach)
            if entry >= end:
                break
            waiting[waits, 0], waiting[waits, 1] = entry, distance_at(copies, entry, query)
            prefetch(places, entry)
            waits += 1
            entry += np.uint64(1)
            if waits == WAITING:
                kept = admit(
                    waiting, waits, places, rows, shown, excluded, denied, veil, hidden, best, kept
                )
                reach, waits = reach_of(best, kept), 0
    kept = admit(waiting, waits, places, rows, shown, excluded, denied, veil, hidden, best, kept)
    return kept, seen


@kernel
def distance_at(copies: Any, entry: Any, query: Any) -> Any:
    """The distance of the code of an entry."""
    distance, words = np.uint64(0), np.uint64(len(query))
    for w in range(len(query)):
        distance += popcount(copies[entry * words + np.uint64(w)] ^ query[w])
    return distance


@kernel
def next_near_word(copies: Any, entry: Any, end: Any, query: Any, reach: Any) -> Any:
    """The next entry within `reach`, or `end`: codes of one word, four at a time."""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    while entry + four <= end:
        a = popcount(copies[entry] ^ query) <= reach
        b = popcount(copies[entry + one] ^ query) <= reach
        c = popcount(copies[entry + two] ^ query) <= reach
        d = popcount(copies[entry + three] ^ query) <= reach
        if a | b | c | d:
            break
        entry += four
    while entry < end and popcount(copies[entry] ^ query) > reach:
        entry += one
    return entry


@kernel
def next_near(copies: Any, entry: Any, end: Any, query: Any, reach: Any) -> Any:
    """The next entry within `reach`, or `end`. Mostly the first word alone tells that it is not."""
    first, words = query[0], np.uint64(len(query))
    while entry < end:
        near = popcount(copies[entry * words] ^ first) <= reach
        if near and distance_at(copies, entry, query) <= reach:
            break
        entry += np.uint64(1)
    return entry


@kernel
def reach_of(best: Any, kept: int) -> Any:
    """The distance up to which a candidate may still be kept."""
    return best[kept - 1] >> np.uint64(32) if kept == len(best) else np.uint64(0xFFFFFFFF)


@kernel
def probe(
    tables: Any,
    rows: Any,
    place_of: Any,
    queries: Any,
    which: Any,
    shown: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    budget: float,
    keys: Any,
    counts: Any,
    finished: Any,
) -> None:
    """The nearest items of queries[which] into keys[which] (B, k), ascending, and counts.

    rows: the row at each place; place_of: the place of each row, or empty where that is not known.
    tables: `Tables.arrays`; begins, widths (T,) are the substrings, the starts of table t begin at
    firsts[t], ring s of table t has rings[s, t] masks, which begin at masks[rings[s, T]].
    finished[b] is false where the rings would cost more than `budget` (nanoseconds): that query
    must be scanned.
    """
    begins, widths, rings, masks, firsts, starts, full, before, places, copies = tables
    count_tables, k = len(widths), keys.shape[1]
    buckets = np.empty(AT_ONCE + 1, dtype=np.int32)
    spans = np.empty((AT_ONCE + 1, 2), dtype=np.int64)
    waiting = np.empty((WAITING, 2), dtype=np.int64)
    veil, out = np.zeros(VEIL, dtype=np.uint64), np.empty(FEW, dtype=np.int32)
    for at in range(len(which)):
        b = which[at]
        query, best = queries[b], keys[b]
        excluded, others, hidden = indices[indptr[b] : indptr[b + 1]], denied, out[:0]
        if 0 < len(excluded) + len(denied) <= min(FEW, len(place_of)):
            hidden = out[: draw_veil(excluded, denied, place_of, veil, out)]
            excluded, others = excluded[:0], denied[:0]
        kept, cost, done = 0, 0.0, False
        for ring in range(len(rings)):
            for t in range(count_tables):
                key = substring(query, begins[t], widths[t])
                first, last = rings[ring, count_tables], rings[ring, count_tables] + rings[ring, t]
                cost += PROBE * (last - first)
                if cost > budget:
                    break
                for begin in range(first, last, AT_ONCE):
                    part = masks[begin : min(last, begin + AT_ONCE)]
                    count = list_full(key, part, full[t], before[t], buckets)
                    kept, seen = look_into(
                        buckets,
                        count,
                        starts[firsts[t] : firsts[t + 1]],
                        places[t],
                        copies[t],
                        query,
                        rows,
                        shown,
                        excluded,
                        others,
                        veil,
                        hidden,
                        best,
                        kept,
                        spans,
                        waiting,
                    )
                    cost += BUCKET * count + CANDIDATE * len(query) * seen
                if kept == k and np.int64(best[k - 1] >> np.uint64(32)) <= count_tables * ring + t:
                    done = True
                    break
            if done or cost > budget:
                break
        finished[b] = done
        counts[b] = kept
