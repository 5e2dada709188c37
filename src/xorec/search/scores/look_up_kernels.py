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

_CHUNK = 8
"""Items that are looked at together, for all queries."""


@kernel
def scan_look_up(
    columns: Any, rows: Any, tables: Any, which: Any, filters: Any, nearest: Any
) -> None:
    """The best items of the queries `which` into `nearest`.

    columns (S, n): the items in tie order; rows (n,): their rows. tables (len(which), S, 256).
    """
    for first in range(0, len(which), LANES):
        some, few = which[first : first + LANES], tables[first : first + LANES]
        if len(some) == 1:
            b = some[0]
            excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
            checks = (rows, excluded, filters.denied)
            nearest.counts[b] = scan_one(columns, few[0], checks, nearest.keys[b])
        else:
            scan_lanes(columns, rows, few, some, filters, nearest)


@kernel
def scan_one(columns: Any, tables: Any, checks: Any, best: Any) -> int:
    """The best items for tables (S, 256) into `best`; returns how many there are.

    checks: see `blocks_kernels.keep_one`.
    """
    sums, items, count = np.empty(BLOCK, dtype=np.float32), columns.shape[1], 0
    for begin in range(0, items, BLOCK):
        end = min(items, begin + BLOCK)
        block = sums[: end - begin]
        look_up_block(columns, tables, begin, end, block)
        count = keep_block(block, begin, checks, best, count)
    return count


@kernel
def scan_lanes(
    columns: Any, rows: Any, tables: Any, which: Any, filters: Any, nearest: Any
) -> None:
    """`scan_look_up` for up to LANES queries."""
    keys, counts = nearest
    lanes = np.empty((columns.shape[0], 256 * LANES), dtype=np.float32)
    sums = np.empty(BLOCK * LANES, dtype=np.float32)
    bounds = np.full(_CHUNK * LANES, np.inf, dtype=np.float32)
    interleave(tables, lanes)
    for q in range(len(which)):
        counts[which[q]] = 0
        bounds[q::LANES] = -np.inf
    for begin in range(0, len(rows), BLOCK):
        n = min(BLOCK, len(rows) - begin)
        look_up_lanes(columns, lanes, begin, begin + n, sums)
        for first in range(0, n, _CHUNK):
            last = min(n, first + _CHUNK)
            if not any_above_its(sums, first * LANES, last * LANES, bounds):
                continue
            for at in range(first * LANES, last * LANES):
                q = at % LANES
                if sums[at] > bounds[q]:
                    b = which[q]
                    excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
                    checks, position = (rows, excluded, filters.denied), begin + at // LANES
                    counts[b] = keep_one(sums[at], position, checks, keys[b], counts[b])
                    bounds[q::LANES] = bound_of(keys[b], counts[b])


@kernel
def any_above_its(sums: Any, begin: Any, end: Any, bounds: Any) -> Any:
    """Whether any of sums[begin:end] is more than the bound in its own place."""
    above, start = np.int32(0), np.uint64(begin)
    for i in range(np.uint64(end - begin)):
        above |= np.int32(sums[start + i] > bounds[i])
    return above != 0
