"""Seven-bit look-up tables: made once for a batch of queries, and forgotten after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.hamming.adders import CHUNK_WORDS
from xorec.search.hamming.planes_kernels import CHUNK_ITEMS, transpose
from xorec.search.hamming.seven_bits.adders import FEW_PARTS, MANY_PARTS, PLANES

_VALUE = PLANES * CHUNK_WORDS
"""Words of a table for one value of a part."""


@kernel
def parts_for(bits: int) -> int:
    """Parts of a code, of seven bits at most."""
    return FEW_PARTS if bits <= 7 * FEW_PARTS else MANY_PARTS


@kernel
def table_words(bits: int, lag_planes: int) -> int:
    """Words of the tables of a chunk, and of its lags behind them."""
    parts, values = parts_for(bits), 0
    for part in range(parts):
        values += 1 << (bits * (part + 1) // parts - bits * part // parts)
    return values * _VALUE + lag_planes * CHUNK_WORDS


@kernel
def fill_tables(
    planes: Any, bits: int, lag_planes: int, begin: int, end: int, tables: Any, codes: Any
) -> None:
    """Write the tables of chunks begin .. end - 1, and the codes (chunks CHUNK_ITEMS,) in them.

    tables (chunks table_words,): for each part and value three planes, the number of bits of the
    part in which items differ from the value. Each bit of a part doubles the values. The planes of
    lags, which stand behind those of the bits, come last; in codes the lag is above the bits.
    """
    parts, size, each = parts_for(bits), table_words(bits, lag_planes), bits + lag_planes
    block = np.zeros(64, dtype=np.uint64)
    for chunk in range(begin, end):
        at = chunk * size
        for part in range(parts):
            first, last = bits * part // parts, bits * (part + 1) // parts
            tables[at : at + _VALUE] = 0
            for f in range(first, last):
                plane = planes[(chunk * each + f) * CHUNK_WORDS :][:CHUNK_WORDS]
                values = 1 << (f - first)
                for value in range(values):
                    low = tables[at + value * _VALUE :][:_VALUE]
                    high = tables[at + (value + values) * _VALUE :][:_VALUE]
                    double(low, high, plane)
            at += (1 << (last - first)) * _VALUE
        lags = planes[(chunk * each + bits) * CHUNK_WORDS :][: lag_planes * CHUNK_WORDS]
        tables[at : at + len(lags)] = lags
        for word in range(CHUNK_WORDS):
            for f in range(each):
                block[f] = planes[(chunk * each + f) * CHUNK_WORDS + word]
            block[each:] = 0
            transpose(block)
            for item in range(64):
                codes[chunk * CHUNK_ITEMS + 64 * word + item] = np.uint32(block[item])


@kernel
def double(low: Any, high: Any, plane: Any) -> None:
    """Add a bit of `plane` to the numbers of `low`, for a zero; into `high` the same for a one."""
    for word in range(CHUNK_WORDS):
        bit = plane[word]
        x, y, z = low[word], low[word + CHUNK_WORDS], low[word + 2 * CHUNK_WORDS]
        low[word] = x ^ bit
        low[word + CHUNK_WORDS] = y ^ (x & bit)
        low[word + 2 * CHUNK_WORDS] = z ^ (x & y & bit)
        bit = ~bit
        high[word] = x ^ bit
        high[word + CHUNK_WORDS] = y ^ (x & bit)
        high[word + 2 * CHUNK_WORDS] = z ^ (x & y & bit)


@kernel
def find_offsets(query: Any, bits: int, offsets: Any) -> None:
    """Where the planes of each part of a query begin in the tables of a chunk, then the lags'."""
    parts, begin = parts_for(bits), 0
    for part in range(parts):
        first, last = bits * part // parts, bits * (part + 1) // parts
        values = np.uint64(1 << (last - first))
        value = (query >> np.uint64(first)) & (values - np.uint64(1))
        offsets[part] = np.uint64(begin) + value * np.uint64(_VALUE)
        begin += (1 << (last - first)) * _VALUE
    if len(offsets) > parts:
        offsets[parts] = np.uint64(begin)
