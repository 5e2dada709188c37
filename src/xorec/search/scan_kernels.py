"""Top-k and radius search over planes: every run is counted for every query of a group.

`masked` is True for masked codes and None for others: each has a compiled kernel of its own,
because a choice at run time made the plain scan 4 to 8 % slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.bits import trailing_zeros
from xorec.kernels import kernel
from xorec.search.lacking_kernels import count_lacking, set_planes
from xorec.search.nearest_kernels import key_of, may_show, offer
from xorec.search.planes_kernels import (
    ITEMS,
    LOW,
    RUN,
    any_below,
    below,
    count_at,
    count_run,
    spread,
)


@kernel
def levels_for(bits: int) -> int:
    """Counter planes that hold every distance and one number more."""
    levels = LOW
    while (1 << levels) <= bits + 1:
        levels += 1
    return levels


@kernel
def scan(
    planes: Any,
    bits: int,
    masked: Any,
    rows: Any,
    queries: Any,
    which: Any,
    shown: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The nearest items of queries[which] into keys[which] (B, k), ascending, and counts.

    planes (runs bits RUN,): the items in tie order; rows: their rows. masked: see above. Query b
    may not show indices[indptr[b]:indptr[b + 1]], ascending. `which` should hold few queries: a run
    stays in the fast cache while they all pass over it.
    """
    k, levels = keys.shape[1], levels_for(bits)
    none = (1 << levels) - 1
    ahead = bits * RUN if len(which) == 1 else 0
    flips = np.empty((len(which), bits), dtype=np.uint64)
    added = np.empty(len(which), dtype=np.int64)
    worst = np.full(len(which), none, dtype=np.int64)
    total = np.empty(levels * RUN, dtype=np.uint64)
    low, found = np.empty(LOW * RUN, dtype=np.uint64), np.empty(RUN, dtype=np.uint64)
    for at in range(len(which)):
        if masked is None:
            spread(queries[which[at]], bits, flips[at])
        else:
            added[at] = set_planes(queries[which[at]], bits, flips[at])
        counts[which[at]] = 0
    for run in range((len(rows) + ITEMS - 1) // ITEMS):
        begin = np.uint64(run * bits * RUN)
        for at in range(len(which)):
            if masked is None:
                count_run(planes, begin, ahead, flips[at], bits, low, total, found)
            else:
                chosen = flips[at, : added[at]]
                count_lacking(planes, begin, ahead, chosen, low, total, found)
            if not any_below(total, worst[at], found):
                continue
            b = which[at]
            excluded = indices[indptr[b] : indptr[b + 1]]
            best, count = keys[b], counts[b]
            for word in range(RUN):
                if not found[word]:
                    continue
                left = below(total, word, worst[at])
                while left:
                    bit = trailing_zeros(left)
                    left &= left - np.uint64(1)
                    place = run * ITEMS + 64 * word + np.int64(bit)
                    if place >= len(rows):
                        break
                    distance = count_at(total, word, bit)
                    if distance < worst[at] and may_show(place, rows, shown, excluded, denied):
                        count = offer(best, count, key_of(distance, place))
                        if count == k:
                            worst[at] = np.int64(best[k - 1] >> np.uint64(32))
            counts[b] = count


@kernel
def scan_within(
    planes: Any,
    bits: int,
    masked: Any,
    query: Any,
    radius: int,
    rows: Any,
    shown: Any,
    excluded: Any,
    denied: Any,
    keys: Any,
) -> int:
    """The keys of all items within `radius`, in tie order, into `keys` as far as it reaches.

    Returns how many there are, which may be more than `keys` holds.
    """
    levels = levels_for(bits)
    flips = np.empty(bits, dtype=np.uint64)
    total = np.empty(levels * RUN, dtype=np.uint64)
    low, found = np.empty(LOW * RUN, dtype=np.uint64), np.empty(RUN, dtype=np.uint64)
    if masked is None:
        spread(query, bits, flips)
    else:
        flips = flips[: set_planes(query, bits, flips)]
    count = 0
    for run in range((len(rows) + ITEMS - 1) // ITEMS):
        begin = np.uint64(run * bits * RUN)
        if masked is None:
            count_run(planes, begin, bits * RUN, flips, bits, low, total, found)
        else:
            count_lacking(planes, begin, bits * RUN, flips, low, total, found)
        if not any_below(total, radius + 1, found):
            continue
        for word in range(RUN):
            left = found[word]
            while left:
                bit = trailing_zeros(left)
                left &= left - np.uint64(1)
                place = run * ITEMS + 64 * word + np.int64(bit)
                if place >= len(rows):
                    break
                if may_show(place, rows, shown, excluded, denied):
                    if count < len(keys):
                        keys[count] = key_of(count_at(total, word, bit), place)
                    count += 1
    return count
