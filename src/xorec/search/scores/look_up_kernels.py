"""Top-k of scores that are sums of look-ups: one query, or several side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.representations.look_up_kernels import (
    BLOCK,
    LANES,
    interleave,
    look_up_block,
    look_up_lanes,
)
from xorec.search.scores.blocks_kernels import bound_of, keep_block, keep_one

_RUN = 8
"""Items that are looked into together, for all queries."""


@kernel
def scan_look_up(
    columns: Any,
    rows: Any,
    tables: Any,
    which: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    keys: Any,
    counts: Any,
) -> None:
    """The best items of queries[which] into keys[which] (B, k), ascending, and counts.

    columns (S, n): the items in tie order; rows (n,): their rows. tables (len(which), S, 256).
    """
    for first in range(0, len(which), LANES):
        some, own = which[first : first + LANES], tables[first : first + LANES]
        if len(some) == 1:
            b = some[0]
            seen = indices[indptr[b] : indptr[b + 1]]
            counts[b] = scan_one(columns, rows, own[0], seen, denied, keys[b])
        else:
            scan_lanes(columns, rows, own, some, indptr, indices, denied, keys, counts)


@kernel
def scan_one(columns: Any, rows: Any, tables: Any, excluded: Any, denied: Any, best: Any) -> int:
    """The best items for tables (S, 256) into `best`; returns how many there are."""
    sums = np.empty(BLOCK, dtype=np.float32)
    count = 0
    for begin in range(0, len(rows), BLOCK):
        end = min(len(rows), begin + BLOCK)
        own = sums[: end - begin]
        look_up_block(columns, tables, begin, end, own)
        count = keep_block(own, end - begin, begin, rows, excluded, denied, best, count)
    return count


@kernel
def scan_lanes(
    columns: Any,
    rows: Any,
    tables: Any,
    which: Any,
    indptr: Any,
    indices: Any,
    denied: Any,
    keys: Any,
    counts: Any,
) -> None:
    """`scan_look_up` for up to LANES queries."""
    lanes = np.empty((columns.shape[0], 256 * LANES), dtype=np.float32)
    sums = np.empty(BLOCK * LANES, dtype=np.float32)
    bounds = np.full(_RUN * LANES, np.inf, dtype=np.float32)
    interleave(tables, lanes)
    for q in range(len(which)):
        counts[which[q]] = 0
        bounds[q::LANES] = -np.inf
    for begin in range(0, len(rows), BLOCK):
        n = min(BLOCK, len(rows) - begin)
        look_up_lanes(columns, lanes, begin, begin + n, sums)
        for first in range(0, n, _RUN):
            last = min(n, first + _RUN)
            if not any_above_its(sums, first * LANES, last * LANES, bounds):
                continue
            for at in range(first * LANES, last * LANES):
                q = at % LANES
                if sums[at] > bounds[q]:
                    b = which[q]
                    seen = indices[indptr[b] : indptr[b + 1]]
                    rest = (rows, seen, denied, keys[b], counts[b])
                    counts[b] = keep_one(sums[at], begin + at // LANES, *rest)
                    bounds[q::LANES] = bound_of(keys[b], counts[b])


@kernel
def any_above_its(sums: Any, begin: Any, end: Any, bounds: Any) -> Any:
    """Whether any of sums[begin:end] is more than the bound in its own place."""
    above, start = np.int32(0), np.uint64(begin)
    for i in range(np.uint64(end - begin)):
        above |= np.int32(sums[start + i] > bounds[i])
    return above != 0
