"""Seven-bit look-up tables: the differing bits of seven at a time are looked up, not counted.

A code of up to 30 bits is cut into three or five parts of at most seven bits. How many bits of a
part differ from a query's is a number from 0 to 7, three planes of it for a chunk of items, and a
table holds them for every value that the part can have. So a query adds three (five) numbers of
three bits, where `planes` adds as many bits as a code has. As there, 256 items go at once. Tables
are made once for a batch of queries, and forgotten after it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import ir

from xorec.core.kernels import intrinsic, kernel
from xorec.search.hamming.planes import (
    CHUNK_ITEMS,
    CHUNK_WORDS,
    LAG_PLANES,
    LANES,
    Adders,
    Vector,
    transpose,
)

FEW_PARTS, MANY_PARTS = 3, 5
"""Parts of codes of up to 21 and up to 30 bits; where items have lags, these are one part more."""
PLANES = 3
"""Planes of the number of differing bits of a part."""
MOST_LEVELS = 5
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)
_ZEROS, _ONES = ir.Constant(_VECTOR, [0] * LANES), ir.Constant(_VECTOR, [-1] * LANES)


def _summed(b: Any, numbers: list[list[Vector]], levels: int) -> tuple[list[Vector], list[Vector]]:
    """(the sum of numbers in planes, lowest first; what is carried out of these planes)."""
    waiting: list[list[Vector]] = [[] for _ in range(levels + 1)]
    for number in numbers:
        for level, plane in enumerate(number):
            waiting[level].append(plane)
    for here, carried in pairwise(waiting):
        while len(here) > 1:
            x, y = here.pop(), here.pop()
            t = b.xor(x, y)
            if here:
                z = here.pop()
                here.append(b.xor(t, z))
                carried.append(b.or_(b.and_(x, y), b.and_(t, z)))
            else:
                here.append(t)
                carried.append(b.and_(x, y))
    return [here[0] for here in waiting[:levels]], waiting[levels]


def _looking_up(parts: int, levels: int, *, lagged: bool = False) -> Any:
    """The function for codes of so many parts, and a threshold of less than 2**levels.

    lagged: the planes behind the parts are those of lags, LAG_PLANES of them.
    """

    @intrinsic
    def look_up(
        typing_context: Any,
        tables: Any,
        begin: Any,
        offsets: Any,
        threshold: Any,
        open_: Any,
        position: Any,
        found: Any,
    ) -> Any:
        """Say which items of a chunk are no farther than `threshold`.

        tables[begin:]: those of the chunk; the planes of part p begin at offsets[p] there. found
        (CHUNK_WORDS,): the items within the threshold whose bit in open_[position:] is set. Returns
        a bit for each word of it that is not zero.
        """
        from numba import types
        from numba.core import cgutils

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code, b = Adders(context, builder, signature, arguments), builder
            tables_at, offsets_at, open_at, found_at = (code.data(n) for n in (0, 2, 4, 6))
            begin, threshold, position = (code.number(n) for n in (1, 3, 5))
            every = range(parts + lagged)
            offsets = [b.load(b.gep(offsets_at, [_WORD(part)])) for part in every]
            planes = [PLANES] * parts + [LAG_PLANES] * lagged
            starts = [b.add(begin, offset) for offset in offsets]
            bits = [b.and_(b.lshr(threshold, _WORD(level)), _WORD(1)) for level in range(levels)]
            turned = [code.everywhere(b.sub(bit, _WORD(1))) for bit in bits]

            def number(start: Any, word: Any, planes: int) -> list[Vector]:
                first = b.add(start, word)
                return [
                    code.load(tables_at, b.add(first, _WORD(level * CHUNK_WORDS)))
                    for level in range(planes)
                ]

            some = cgutils.alloca_once_value(b, _WORD(0))
            with cgutils.for_range(b, _WORD(CHUNK_WORDS // LANES)) as loop:
                word = b.mul(loop.index, _WORD(LANES))
                pairs = zip(starts, planes, strict=True)
                sums, over = _summed(b, [number(at, word, count) for at, count in pairs], levels)
                far = b.and_(sums[0], turned[0])  # the carry of sum + ~threshold: sum > threshold
                for here, bit in zip(sums[1:], turned[1:], strict=True):
                    far = b.or_(b.and_(here, bit), b.and_(far, b.or_(here, bit)))
                if levels < MOST_LEVELS:
                    for plane in over:
                        far = b.or_(far, plane)
                near = b.and_(code.load(open_at, b.add(position, word)), b.xor(far, _ONES))
                code.store(near, found_at, word)
                there = b.icmp_unsigned("!=", near, _ZEROS)
                four = b.zext(b.bitcast(there, ir.IntType(LANES)), _WORD)
                b.store(b.or_(b.load(some), b.shl(four, word)), some)
            return b.load(some)

        given = (tables, begin, offsets, threshold, open_, position, found)
        return types.uint64(*given), generate

    return look_up


few_near = _looking_up(FEW_PARTS, PLANES)
few_far = _looking_up(FEW_PARTS, MOST_LEVELS)
many_near = _looking_up(MANY_PARTS, PLANES)
many_far = _looking_up(MANY_PARTS, MOST_LEVELS)
few_near_lagged = _looking_up(FEW_PARTS, PLANES, lagged=True)
few_far_lagged = _looking_up(FEW_PARTS, MOST_LEVELS, lagged=True)
many_near_lagged = _looking_up(MANY_PARTS, PLANES, lagged=True)
many_far_lagged = _looking_up(MANY_PARTS, MOST_LEVELS, lagged=True)


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
