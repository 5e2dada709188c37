"""Multi-index hashing: look up the items whose code agrees with the query in some substring.

The bits are cut into T substrings with a table each. A code within distance r of the query is
within floor(r / T) of it in at least one substring, so the tables are probed in rings of growing
radius: once ring s of table t is done, everything within T s + t was seen (pigeonhole). The search
ends when the k-th distance is no more than that, so the whole tie at the k-th place was seen too.

A probe reads one bit of a map of the buckets that hold anything, which fits a fast cache; only
full buckets go further, and their lines are fetched a few buckets ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.bits import popcount, prefetch
from xorec.kernels import kernel
from xorec.search.nearest_kernels import distance_of, key_of, may_show, offer

AT_ONCE = 2048
"""Buckets that are listed before they are looked into."""
_NEAR, _FAR = 8, 24
PROBE, BUCKET, CANDIDATE = 1.0, 10.0, 0.7
"""What a probe, a bucket that is not empty and a candidate cost, in nanoseconds, about."""


@kernel
def substring(code: Any, begin: int, width: int) -> Any:
    """Bits begin .. begin + width - 1 of a code (W,), width up to 32."""
    word, shift = begin >> 6, begin & 63
    part = code[word] >> np.uint64(shift)
    if shift + width > 64:
        part |= code[word + 1] << np.uint64(64 - shift)
    return np.uint32(part & np.uint64((1 << width) - 1))


@kernel
def fill_table(
    codes: Any,
    rows: Any,
    begin: int,
    width: int,
    starts: Any,
    full: Any,
    places: Any,
    copies: Any,
) -> None:
    """One table: bucket b holds places[starts[b]:starts[b + 1]], ascending, and their codes.

    codes (m, W) are by row; rows: the row at each place. starts (2**width + 1,) and full (a bit
    for each bucket) come in as zeros.
    """
    for place in range(len(rows)):
        starts[substring(codes[rows[place]], begin, width) + 1] += 1
    for bucket in range(1 << width):
        if starts[bucket + 1]:
            full[bucket >> 6] |= np.uint64(1) << np.uint64(bucket & 63)
        starts[bucket + 1] += starts[bucket]
    for place in range(len(rows)):
        code = codes[rows[place]]
        bucket = substring(code, begin, width)
        at = starts[bucket]
        starts[bucket] = at + 1
        places[at] = place
        for w in range(len(code)):
            copies[at * len(code) + w] = code[w]
    for bucket in range((1 << width) - 1, 0, -1):
        starts[bucket] = starts[bucket - 1]
    starts[0] = 0


@kernel
def list_full(key: Any, masks: Any, full: Any, buckets: Any) -> Any:
    """The buckets key ^ mask that are not empty, into `buckets`; returns how many."""
    count = np.int64(0)
    for at in range(len(masks)):
        bucket = key ^ masks[at]
        buckets[count] = bucket
        count += np.int64((full[bucket >> np.uint32(6)] >> np.uint64(bucket & np.uint32(63))) & 1)
    return count


@kernel
def consider(
    distance: Any,
    place: Any,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    best: Any,
    kept: int,
) -> int:
    """Offer one candidate to best[:kept] if it may be shown; returns how many are kept."""
    key = key_of(distance, place)
    if kept == len(best) and key >= best[kept - 1]:
        return kept
    if not may_show(place, rows, shown, excluded, denied):
        return kept
    return offer(best, kept, key)


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
    best: Any,
    kept: int,
    spans: Any,
) -> tuple[int, int]:
    """Offer what stands in buckets[:count] to best[:kept]; (how many are kept, candidates).

    copies: the words of all codes, one after the other. spans (AT_ONCE, 2): scratch.
    """
    seen, words, first = 0, len(query), query[0]
    reach = reach_of(best, kept)
    for at in range(min(_FAR, count)):
        prefetch(starts, buckets[at])
    for at in range(count + _NEAR):
        if at + _FAR < count:
            prefetch(starts, buckets[at + _FAR])
        if at < count:
            begin = np.int64(starts[buckets[at]])
            spans[at, 0], spans[at, 1] = begin, starts[buckets[at] + np.uint32(1)]
            prefetch(copies, begin * words)
        if at < _NEAR:
            continue
        begin, end = spans[at - _NEAR, 0], spans[at - _NEAR, 1]
        seen += end - begin
        for entry in range(begin, end):
            distance = popcount(copies[entry * words] ^ first)
            for w in range(1, words):
                distance += popcount(copies[entry * words + w] ^ query[w])
            if distance <= reach:
                kept = consider(distance, places[entry], rows, shown, excluded, denied, best, kept)
                reach = reach_of(best, kept)
    return kept, seen


@kernel
def reach_of(best: Any, kept: int) -> Any:
    """The distance up to which a candidate may still be kept."""
    return best[kept - 1] >> np.uint64(32) if kept == len(best) else np.uint64(0xFFFFFFFF)


@kernel
def probe(
    begins: Any,
    widths: Any,
    rings: Any,
    masks: Any,
    starts: Any,
    full: Any,
    places: Any,
    copies: Any,
    rows: Any,
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

    begins, widths (T,): the substrings. rings[s, t]: how many masks ring s of table t has; they
    begin at masks[rings[s, T]]. finished[b] is false where the rings would cost more than `budget`
    (nanoseconds): that query must be scanned.
    """
    tables, k = len(widths), keys.shape[1]
    buckets = np.empty(AT_ONCE + 1, dtype=np.uint32)
    spans = np.empty((AT_ONCE + 1, 2), dtype=np.int64)
    for at in range(len(which)):
        b = which[at]
        query, best = queries[b], keys[b]
        excluded = indices[indptr[b] : indptr[b + 1]]
        kept, cost, done = 0, 0.0, False
        for ring in range(len(rings)):
            for t in range(tables):
                key = substring(query, begins[t], widths[t])
                first, last = rings[ring, tables], rings[ring, tables] + rings[ring, t]
                cost += PROBE * (last - first)
                if cost > budget:
                    break
                for begin in range(first, last, AT_ONCE):
                    part = masks[begin : min(last, begin + AT_ONCE)]
                    count = list_full(key, part, full[t], buckets)
                    kept, seen = look_into(
                        buckets,
                        count,
                        starts[t],
                        places[t],
                        copies[t],
                        query,
                        rows,
                        shown,
                        excluded,
                        denied,
                        best,
                        kept,
                        spans,
                    )
                    cost += BUCKET * count + CANDIDATE * seen
                if kept == k and np.int64(best[k - 1] >> np.uint64(32)) <= tables * ring + t:
                    done = True
                    break
            if done or cost > budget:
                break
        finished[b] = done
        counts[b] = kept


@kernel
def probe_within(
    begins: Any,
    widths: Any,
    rings: Any,
    masks: Any,
    starts: Any,
    full: Any,
    places: Any,
    copies: Any,
    query: Any,
    radius: int,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    keys: Any,
) -> int:
    """The keys of all items within `radius`, some more than once, as far as `keys` reaches.

    Returns how many there are. All rings that `radius` needs must be in `rings`.
    """
    tables, words, found = len(widths), len(query), 0
    buckets = np.empty(AT_ONCE + 1, dtype=np.uint32)
    for t in range(tables):
        key = substring(query, begins[t], widths[t])
        for ring in range(min((radius - t) // tables, widths[t]) + 1):
            first, last = rings[ring, tables], rings[ring, tables] + rings[ring, t]
            for begin in range(first, last, AT_ONCE):
                part = masks[begin : min(last, begin + AT_ONCE)]
                count = list_full(key, part, full[t], buckets)
                for at in range(count):
                    bucket = buckets[at]
                    for entry in range(starts[t, bucket], starts[t, bucket + np.uint32(1)]):
                        code = copies[t, entry * words : (entry + 1) * words]
                        distance = distance_of(code, query)
                        place = places[t, entry]
                        if np.int64(distance) <= radius and may_show(
                            place, rows, shown, excluded, denied
                        ):
                            if found < len(keys):
                                keys[found] = key_of(distance, place)
                            found += 1
    return found
