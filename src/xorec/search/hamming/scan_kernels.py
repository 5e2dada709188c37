"""Top-k and radius search over planes: every run is counted for every query of a group.

`masked` is True for masked codes and None for others: each has a compiled kernel of its own,
because a choice at run time made the plain scan 4 to 8 % slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import trailing_zeros
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.planes_kernels import (
    ITEMS,
    count_at,
    count_run,
    levels_for,
    set_planes,
    spread,
)
from xorec.search.hamming.select_kernels import POOL, settle, take
from xorec.search.nearest_kernels import key_of

TOGETHER = 32
"""Queries that pass over a run of planes while it is in the cache."""
_ROOM = 1 << 17
"""Words that the open places of a group may take, unless a few queries need more."""
_FEWEST = 4
CACHED = 1 << 14
"""Words of planes that stay in the cache while the queries of a group pass over them."""


@kernel
def hide(excluded: Any, first: int, place_of: Any, open_: Any, begin: int) -> None:
    """Clear the bits of excluded rows in open_[begin:], by place."""
    for at in range(len(excluded)):
        row = np.int64(excluded[at]) - first
        if 0 <= row < len(place_of):
            place = np.uint64(place_of[row])
            bit = np.uint64(1) << (place & np.uint64(63))
            open_[np.uint64(begin) + (place >> np.uint64(6))] &= ~bit


@kernel
def scan(
    planes: Any,
    bits: int,
    masked: Any,
    valid: Any,
    first: int,
    place_of: Any,
    queries: Any,
    which: Any,
    indptr: Any,
    indices: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The nearest items of queries[which] into keys[which] (B, k), ascending, and counts.

    planes (runs bits RUN,): the items in tie order. masked: see above. valid (runs RUN,): the bits
    of the items that may be shown. Query b may not show indices[indptr[b]:indptr[b + 1]]; the place
    of row r is place_of[r - first].
    """
    k, words, runs = keys.shape[1], len(valid), len(valid) // RUN
    group, free = group_of(which, indptr, words)
    ahead = bits * RUN if group == 1 else 0
    open_ = valid if free else np.empty(group * words, dtype=np.uint64)
    flips, added = np.empty((group, bits), dtype=np.uint64), np.full(group, bits)
    pool, tally = np.empty((group, POOL * k), np.uint64), np.empty((group, bits + 1), np.int64)
    state, starts = np.empty((group, 3), dtype=np.int64), np.empty(bits + 1, dtype=np.int64)
    total = np.empty(levels_for(bits) * RUN, dtype=np.uint64)
    found, rest = np.empty(RUN, dtype=np.uint64), np.empty(RUN, dtype=np.uint64)
    chunk = max(1, CACHED // (bits * RUN))
    for begin in range(0, len(which), group):
        mine = which[begin : begin + group]
        for at in range(len(mine)):
            b = mine[at]
            if masked is None:
                spread(queries[b], bits, flips[at])
            else:
                added[at] = set_planes(queries[b], bits, flips[at])
            if not free:
                open_[at * words : (at + 1) * words] = valid
                hide(indices[indptr[b] : indptr[b + 1]], first, place_of, open_, at * words)
            tally[at] = 0
            state[at, 0], state[at, 1], state[at, 2] = 0, 0, bits
        for run in range(0, runs, chunk):
            for at in range(len(mine)):
                scan_runs(
                    planes,
                    bits,
                    masked,
                    ahead,
                    run,
                    min(runs, run + chunk),
                    flips[at, : added[at]],
                    open_[0 if free else at * words :],
                    pool[at],
                    tally[at],
                    state[at],
                    keys[mine[at]],
                    (total, found, rest, starts),
                )
        for at in range(len(mine)):
            b, held, reach = mine[at], state[at, 0], state[at, 2]
            counts[b] = settle(pool[at], held, tally[at], reach, keys[b], starts)


@inlined
def scan_runs(
    planes: Any,
    bits: int,
    masked: Any,
    ahead: int,
    begin: int,
    end: int,
    flips: Any,
    open_: Any,
    pool: Any,
    tally: Any,
    state: Any,
    best: Any,
    scratch: Any,
) -> None:
    """Take what the runs begin .. end - 1 have for one query: see `select_kernels.take`."""
    total, found, rest, starts = scratch
    levels = levels_for(bits)
    bound = state[2] + (state[1] < len(best))
    for run in range(begin, end):
        place = np.uint64(run * RUN)
        if count_run(
            planes,
            place * np.uint64(bits),
            ahead,
            flips,
            masked,
            levels,
            bound,
            open_,
            place,
            total,
            found,
        ):
            bound = take(total, levels, found, run * ITEMS, pool, tally, state, best, rest, starts)


@kernel
def group_of(which: Any, indptr: Any, words: int) -> tuple[int, bool]:
    """(queries that go over a run together, whether none of them hides anything)."""
    free = True
    for at in range(len(which)):
        free &= indptr[which[at]] == indptr[which[at] + 1]
    most = TOGETHER if free else max(_FEWEST, min(TOGETHER, _ROOM // max(1, words)))
    return min(len(which), most), free


@kernel
def scan_within(
    planes: Any, bits: int, masked: Any, valid: Any, query: Any, radius: int, keys: Any
) -> int:
    """The keys of all items within `radius`, in tie order, into `keys` as far as it reaches.

    valid: as in `scan`. Returns how many there are, which may be more than `keys` holds.
    """
    levels, count = levels_for(bits), 0
    flips = np.empty(bits, dtype=np.uint64)
    total, found = np.empty(levels * RUN, dtype=np.uint64), np.empty(RUN, dtype=np.uint64)
    if masked is None:
        spread(query, bits, flips)
    else:
        flips = flips[: set_planes(query, bits, flips)]
    for run in range(len(valid) // RUN):
        begin, own = np.uint64(run * bits * RUN), np.uint64(run * RUN)
        if not count_run(
            planes, begin, bits * RUN, flips, masked, levels, radius + 1, valid, own, total, found
        ):
            continue
        for word in range(RUN):
            left = found[word]
            while left:
                bit = trailing_zeros(left)
                left &= left - np.uint64(1)
                if count < len(keys):
                    place = run * ITEMS + 64 * word + np.int64(bit)
                    keys[count] = key_of(count_at(total, levels, word, bit), place)
                count += 1
    return count
