"""Scores that are sums of look-ups: a table for each column of bytes, added column by column.

The entries of several queries for a byte are next to each other in memory, so one look-up serves
all. Each sum is from the first column to the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import add_eight
from xorec.core.kernels import kernel, numpy_first
from xorec.representations.base import Bytes, Floats, Scores

BLOCK = 256
"""Items whose scores are summed at once."""
LANES = 8
"""Queries side by side: see `add_eight`."""


@kernel
def interleave(tables: Any, lanes: Any) -> None:
    """lanes[s, v LANES + q] = tables[q, s, v] of up to LANES queries, else zero.

    lanes (S, 256 LANES).
    """
    for s in range(lanes.shape[0]):
        for v in range(256):
            for q in range(LANES):
                value = tables[q, s, v] if q < len(tables) else np.float32(0)
                lanes[s, v * LANES + q] = value


@kernel
def look_up_lanes(columns: Any, lanes: Any, begin: int, end: int, sums: Any) -> None:
    """The scores of the items begin .. end - 1 for LANES queries: sums[(i - begin) LANES + q]."""
    for place in range((end - begin) * LANES):
        sums[place] = np.float32(0)
    for s in range(columns.shape[0]):
        column, table = columns[s, begin:end], lanes[s]
        for i in range(len(column)):
            add_eight(sums, i * LANES, table, np.int64(column[i]) * LANES)


@kernel
def look_up_block(columns: Any, tables: Any, begin: int, end: int, sums: Any) -> None:
    """The scores of the items begin .. end - 1 for one query, tables (S, 256), into sums."""
    for i in range(len(sums)):
        sums[i] = np.float32(0)
    s, last = 0, columns.shape[0]
    while s + 4 <= last:
        c0, c1 = columns[s, begin:end], columns[s + 1, begin:end]
        c2, c3 = columns[s + 2, begin:end], columns[s + 3, begin:end]
        t0, t1, t2, t3 = tables[s], tables[s + 1], tables[s + 2], tables[s + 3]
        for i in range(len(sums)):
            total = (sums[i] + t0[c0[i]]) + t1[c1[i]]
            sums[i] = (total + t2[c2[i]]) + t3[c3[i]]
        s += 4
    while s < last:
        column, table = columns[s, begin:end], tables[s]
        for i in range(len(sums)):
            sums[i] += table[column[i]]
        s += 1


@kernel
def look_up_all(columns: Any, tables: Any, out: Any) -> None:
    """The scores of all items, columns (S, m), for tables (B, S, 256), into out (B, m)."""
    m = columns.shape[1]
    lanes = np.empty((columns.shape[0], 256 * LANES), dtype=np.float32)
    sums = np.empty(BLOCK * LANES, dtype=np.float32)
    for first in range(0, len(tables), LANES):
        some = tables[first : first + LANES]
        if len(some) > 1:
            interleave(some, lanes)
        for begin in range(0, m, BLOCK):
            end = min(m, begin + BLOCK)
            if len(some) == 1:
                look_up_block(columns, some[0], begin, end, out[first, begin:end])
                continue
            look_up_lanes(columns, lanes, begin, end, sums)
            for q in range(len(some)):
                for i in range(end - begin):
                    out[first + q, begin + i] = sums[i * LANES + q]


@numpy_first(look_up_all)
def _look_up(columns: Bytes, tables: Floats, out: Scores) -> None:
    out[0] = 0
    for column, table in zip(columns, tables[0], strict=True):
        out[0] += table[column]


def look_up(columns: Bytes, tables: Floats) -> Scores:
    """The scores (B, m) of all items, columns (S, m), for tables (B, S, 256)."""
    scores = np.empty((len(tables), columns.shape[1]), dtype=np.float32)
    _look_up(columns, tables, scores)
    return scores
