"""The tables of `sevens`: made once for a batch of queries, and forgotten after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.lut import FEW_PARTS, MANY_PARTS, PLANES
from xorec.search.hamming.planes_kernels import ITEMS, transpose

_VALUE = PLANES * RUN
"""Words of a table for one value of a part."""


@kernel
def parts_for(bits: int) -> int:
    """Parts of a code, of seven bits at most."""
    return FEW_PARTS if bits <= 7 * FEW_PARTS else MANY_PARTS


@kernel
def table_words(bits: int) -> int:
    """Words of the tables of a run."""
    parts, values = parts_for(bits), 0
    for part in range(parts):
        values += 1 << (bits * (part + 1) // parts - bits * part // parts)
    return values * _VALUE


@kernel
def fill_tables(planes: Any, bits: int, begin: int, end: int, tables: Any, codes: Any) -> None:
    """Write the tables of the runs begin .. end - 1, and the codes (runs ITEMS,) of their items.

    tables (runs table_words,): for each part and value three planes, the number of bits of the
    part in which items differ from the value. Each bit of a part doubles the values.
    """
    parts, size = parts_for(bits), table_words(bits)
    block = np.zeros(64, dtype=np.uint64)
    for run in range(begin, end):
        at = run * size
        for part in range(parts):
            first, last = bits * part // parts, bits * (part + 1) // parts
            tables[at : at + _VALUE] = 0
            for f in range(first, last):
                plane = planes[(run * bits + f) * RUN :][:RUN]
                values = 1 << (f - first)
                for value in range(values):
                    low = tables[at + value * _VALUE :][:_VALUE]
                    high = tables[at + (value + values) * _VALUE :][:_VALUE]
                    double(low, high, plane)
            at += (1 << (last - first)) * _VALUE
        for word in range(RUN):
            for f in range(bits):
                block[f] = planes[(run * bits + f) * RUN + word]
            block[bits:] = 0
            transpose(block)
            for item in range(64):
                codes[run * ITEMS + 64 * word + item] = np.uint32(block[item])


@kernel
def double(low: Any, high: Any, plane: Any) -> None:
    """Add a bit of `plane` to the numbers of `low`, for a zero; into `high` the same for a one."""
    for word in range(RUN):
        bit = plane[word]
        x, y, z = low[word], low[word + RUN], low[word + 2 * RUN]
        low[word] = x ^ bit
        low[word + RUN] = y ^ (x & bit)
        low[word + 2 * RUN] = z ^ (x & y & bit)
        bit = ~bit
        high[word] = x ^ bit
        high[word + RUN] = y ^ (x & bit)
        high[word + 2 * RUN] = z ^ (x & y & bit)


@kernel
def place_query(query: Any, bits: int, places: Any) -> None:
    """Where the planes of each part of a query begin in the tables of a run."""
    parts, begin = len(places), 0
    for part in range(parts):
        first, last = bits * part // parts, bits * (part + 1) // parts
        values = np.uint64(1 << (last - first))
        value = (query >> np.uint64(first)) & (values - np.uint64(1))
        places[part] = np.uint64(begin) + value * np.uint64(_VALUE)
        begin += (1 << (last - first)) * _VALUE
