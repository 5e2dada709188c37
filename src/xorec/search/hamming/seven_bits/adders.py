"""Seven-bit look-up tables: the differing bits of seven at a time are looked up, not counted.

A code of up to 30 bits is cut into three or five parts of at most seven bits. How many bits of a
part differ from a query's is a number from 0 to 7, three planes of it for a chunk of items, and a
table holds them for every value that the part can have. So a query adds three (five) numbers of
three bits, where `adders` adds as many bits as a code has. As there, 256 items go at once.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from llvmlite import ir

from xorec.core.kernels import intrinsic
from xorec.search.hamming.adders import CHUNK_WORDS, LAG_PLANES, LANES, Adders, Vector

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
