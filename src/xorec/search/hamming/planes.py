"""Bit-sliced distances: 2,048 items at a time, 256 of them in one machine instruction.

A chunk of CHUNK_ITEMS items is stored as planes: plane f holds bit f of every item. The distances
of all of them to a query are counted side by side, in planes too: word w of plane l holds bit l of
the counts of 64 items. They are compared in the same breath with the k-th distance so far, which
tells the items to look at; soon there are none. Items stand in tie order, so the first that come
are the first in rank.

Four words (256 items) go through full adders at once and their counters stay in registers from the
first plane to the last, which a compiler of loops over words does not see: so these functions are
written in LLVM's own language. It works on any machine; one without vectors takes four words in
turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from xorec.core.bits import prefetch
from xorec.core.kernels import inlined, intrinsic, kernel

CHUNK_WORDS = 32
"""Words in a plane of a chunk."""
LANES = 4
"""Words that are counted at once."""
LAG_PLANES = 4
"""Planes of the lags of a chunk, where items have offsets: see `segment`."""
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)
_ZEROS = ir.Constant(_VECTOR, [0] * LANES)
_ONES = ir.Constant(_VECTOR, [-1] * LANES)
_FIRST_LANES = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
_GROUP = 16
"""Planes that are added in one go; the rest is added in groups of 8, 4, 2 and 1."""

Vector = Any
"""A value of LLVM: LANES words."""


class Adders:
    """What the functions below write, in the order of their lines."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder = builder
        self._context, self._types, self._arguments = context, signature.args, arguments

    def _argument(self, number: int, field: int | None) -> tuple[Any, Any]:
        """(type, value) of argument `number`, or of this field of it where it is a tuple."""
        kind, value = self._types[number], self._arguments[number]
        if field is None:
            return kind, value
        return list(kind)[field], self.builder.extract_value(value, field)

    def data(self, number: int, field: int | None = None) -> Any:
        """Where the array that is argument `number` (or its field) begins."""
        kind, value = self._argument(number, field)
        return self._context.make_array(kind)(self._context, self.builder, value).data

    def number(self, number: int, field: int | None = None) -> Any:
        """The argument `number` (or its field) as a word."""
        from numba import types

        kind, value = self._argument(number, field)
        return self._context.cast(self.builder, value, kind, types.uint64)

    def pointer(self, data: Any, index: Any) -> Any:
        """Where LANES words from `index` of an array on are."""
        return self.builder.bitcast(self.builder.gep(data, [index]), _VECTOR.as_pointer())

    def load(self, data: Any, index: Any) -> Vector:
        """LANES words from `index` on."""
        return self.builder.load(self.pointer(data, index), align=8)

    def store(self, value: Vector, data: Any, index: Any) -> None:
        """The inverse of `load`."""
        self.builder.store(value, self.pointer(data, index), align=8)

    def everywhere(self, word: Any) -> Vector:
        """One word in all lanes."""
        one = self.builder.insert_element(_ZEROS, word, ir.IntType(32)(0))
        return self.builder.shuffle_vector(one, _ZEROS, _FIRST_LANES)

    def add(self, counters: list[Any], words: list[Vector]) -> None:
        """Add one bit for each set bit of `words` to the counters (pointers, lowest bit first)."""
        b = self.builder
        waiting = [[b.load(counter)] for counter in counters]

        def put(level: int, word: Vector) -> None:
            if level == len(waiting):
                return
            here = waiting[level]
            here.append(word)
            if len(here) == 3:
                x, y, z = here
                t = b.xor(y, z)
                here[:] = [b.xor(x, t)]
                put(level + 1, b.or_(b.and_(y, z), b.and_(x, t)))

        for word in words:
            put(0, word)
        for level, here in enumerate(waiting):
            if len(here) == 2:
                x, y = here
                here[:] = [b.xor(x, y)]
                put(level + 1, b.and_(x, y))
            b.store(here[0], counters[level])

    def below(self, counters: list[Any], bound: Any) -> Vector:
        """The items whose count is less than `bound`."""
        b = self.builder
        less: Vector = _ZEROS
        for level, counter in enumerate(counters):
            bit = b.and_(b.lshr(bound, _WORD(level)), _WORD(1))
            whole = self.everywhere(b.sub(_WORD(0), bit))
            zero = b.xor(b.load(counter), _ONES)
            less = b.or_(b.and_(zero, less), b.and_(whole, b.or_(zero, less)))
        return less


def _counting(levels: int) -> Any:
    """The function that counts up to 2**levels - 1."""

    @intrinsic
    def count(
        typing_context: Any,
        planes: Any,
        query: Any,
        span: Any,
        counted: Any,
        where: Any,
        bound: Any,
        open_: Any,
    ) -> Any:
        """Count the planes of `span` for LANES words of a chunk; say which are below `bound`.

        span: (first, last + 1). where: (begin, position, word): the planes of the chunk begin at
        planes[begin], its items at open_[position]; `word` is the first of the LANES words. Plane f
        is planes[begin + f CHUNK_WORDS:], XORed with the word query.flips[f]; where query.masked is
        not None it is planes[begin + flips[f]:], turned round. counted.counts[word + l
        CHUNK_WORDS:]: bit l of the counts, added to unless first is 0; then they begin with 0 or,
        where query.lags is not None, with the number whose planes are at planes[begin + lags:].
        counted.found[word:]: those below `bound` whose bit in open_ is set.
        """
        from numba import types
        from numba.core import cgutils

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Adders(context, builder, signature, arguments)
            planes_at, flips_at = code.data(0), code.data(1, 0)
            counts_at, found_at = code.data(3, 0), code.data(3, 1)
            first, last = code.number(2, 0), code.number(2, 1)
            begin, position, word = (code.number(4, field) for field in range(3))
            begin, position = builder.add(begin, word), builder.add(position, word)
            counters = [cgutils.alloca_once(builder, _VECTOR) for _ in range(levels)]
            stored = [builder.add(word, _WORD(level * CHUNK_WORDS)) for level in range(levels)]
            has_lags = not isinstance(list(query)[2], types.NoneType)
            for level, counter in enumerate(counters):
                start: Vector = _ZEROS
                if has_lags and level < LAG_PLANES:
                    lag = builder.add(code.number(1, 2), _WORD(level * CHUNK_WORDS))
                    start = code.load(planes_at, builder.add(begin, lag))
                builder.store(start, counter)
            with builder.if_then(builder.icmp_unsigned("!=", first, _WORD(0))):
                for counter, index in zip(counters, stored, strict=True):
                    builder.store(code.load(counts_at, index), counter)

            def plane(number: Any) -> Vector:
                flip = builder.load(builder.gep(flips_at, [number]))
                if isinstance(list(query)[1], types.NoneType):
                    index = builder.add(begin, builder.mul(number, _WORD(CHUNK_WORDS)))
                    return builder.xor(code.load(planes_at, index), code.everywhere(flip))
                return builder.xor(code.load(planes_at, builder.add(begin, flip)), _ONES)

            now = cgutils.alloca_once_value(builder, first)

            def add(size: int) -> None:
                start = builder.load(now)
                code.add(counters, [plane(builder.add(start, _WORD(f))) for f in range(size)])
                builder.store(builder.add(start, _WORD(size)), now)

            count = builder.sub(last, first)
            with cgutils.for_range(builder, builder.udiv(count, _WORD(_GROUP))):
                add(_GROUP)
            for size in (8, 4, 2, 1):
                rest = builder.and_(count, _WORD(size))
                with builder.if_then(builder.icmp_unsigned("!=", rest, _WORD(0))):
                    add(size)
            for counter, index in zip(counters, stored, strict=True):
                code.store(builder.load(counter), counts_at, index)
            near = code.below(counters, code.number(5))
            near = builder.and_(near, code.load(code.data(6), position))
            code.store(near, found_at, word)
            return context.get_dummy_value()

        return types.void(planes, query, span, counted, where, bound, open_), generate

    return count


count_to_31 = _counting(5)
count_to_255 = _counting(8)
count_to_2047 = _counting(11)


CHUNK_ITEMS = 64 * CHUNK_WORDS
FEW, MORE, MOST = 5, 8, 11
"""Counter planes, for distances of up to 30, 254 and 2,046."""
PLANES_TOGETHER = 64
"""Planes of a chunk that are counted before the next ones: they fit the fastest cache."""
_PARTS = CHUNK_WORDS // LANES
TOO_LONG_FOR_FEW = (1 << FEW) - 1
"""Bits of a code whose distances, and one number more, FEW planes do not hold."""


@kernel
def levels_for(farthest: int) -> int:
    """Counter planes that hold every distance and one number more."""
    if farthest < TOO_LONG_FOR_FEW:
        return FEW
    return MORE if farthest < (1 << MORE) - 1 else MOST


@inlined
def planes_in(planes: Any) -> Any:
    """Planes of a chunk, those of the lags and all."""
    return planes.bits if planes.lags is None else planes.bits + LAG_PLANES


@kernel
def transpose(block: Any) -> None:
    """Turn a 64 x 64 block of bits, in place: bit j of word i becomes bit i of word j."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for word in range(first, first + width):
                swap = ((block[word] >> shift) ^ block[word + width]) & mask
                block[word + width] ^= swap
                block[word] ^= swap << shift
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def slice_chunks(codes: Any, rows: Any, bits: int, begin: int, end: int, planes: Any) -> None:
    """Write chunks begin .. end - 1 of planes (chunks, bits, CHUNK_WORDS): codes[rows] (n, W)."""
    block = np.empty(64, dtype=np.uint64)
    for chunk in range(begin, end):
        for word in range(CHUNK_WORDS):
            first = chunk * CHUNK_ITEMS + 64 * word
            for w in range(codes.shape[1]):
                for item in range(64):
                    at = first + item
                    block[item] = codes[rows[at], w] if at < len(rows) else np.uint64(0)
                transpose(block)
                for f in range(64 * w, min(bits, 64 * w + 64)):
                    planes[chunk, f, word] = block[f - 64 * w]


@inlined
def count_chunk(planes: Any, where: Any, query: Any, bound: Any, open_: Any, counted: Any) -> Any:
    """Count the distances of the chunk at planes.words[begin:]; whether any is less than `bound`.

    where: (begin, position, ahead). query: `segment.QueryPlanes`; of masked codes only what the
    items lack of its planes is counted. open_[position:]: a bit for each item of the chunk that may
    be found. counted: `segment.Counted`, written. ahead: how far behind the words are that memory
    should bring next, 0 for none (asking for what is behind the last chunk does no harm).
    """
    if levels_for(planes.farthest) == FEW:
        count_few(planes, where, query, bound, open_, counted)
    else:
        count_many(planes, where, query, bound, open_, counted)
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        some |= counted.found[np.uint64(word)]
    return some != np.uint64(0)


@inlined
def count_few(planes: Any, where: Any, query: Any, bound: Any, open_: Any, counted: Any) -> None:
    """`count_chunk` of short codes, in a loop of its own: a call takes as long as one of _PARTS."""
    begin, position, ahead = where
    count, behind = len(query.flips), 0 if query.lags is None else LAG_PLANES
    for part in range(_PARTS):
        if ahead:
            for f in range(part, count + behind, _PARTS):
                prefetch_plane(planes, begin, ahead, query, f)
        lanes = (begin, position, np.uint64(part * LANES))
        count_to_31(planes.words, query, (0, count), counted, lanes, bound, open_)


@kernel
def count_many(planes: Any, where: Any, query: Any, bound: Any, open_: Any, counted: Any) -> None:
    """`count_chunk` of long codes, PLANES_TOGETHER after PLANES_TOGETHER."""
    begin, position, ahead = where
    count, levels = len(query.flips), levels_for(planes.farthest)
    for first in range(0, max(1, count), PLANES_TOGETHER):
        last = min(count, first + PLANES_TOGETHER)
        for part in range(_PARTS):
            if ahead:
                for f in range(first + part, last, _PARTS):
                    prefetch_plane(planes, begin, ahead, query, f)
            lanes = (begin, position, np.uint64(part * LANES))
            if levels == MORE:
                count_to_255(planes.words, query, (first, last), counted, lanes, bound, open_)
            else:
                count_to_2047(planes.words, query, (first, last), counted, lanes, bound, open_)


@kernel
def prefetch_plane(planes: Any, begin: Any, ahead: int, query: Any, f: int) -> None:
    """Ask for plane f of the chunk that is `ahead` of the one at `begin`."""
    plane = np.uint64(f * CHUNK_WORDS) if query.masked is None else query.flips[f]
    for line in range(0, CHUNK_WORDS, 8):
        prefetch(planes.words, begin + plane + np.uint64(ahead + line))


@inlined
def bit_at(counts: Any, level: Any, word: Any, bit: Any) -> Any:
    """Bit `level` of the count of one item, in its place."""
    one = (counts[np.uint64(level * CHUNK_WORDS) + word] >> bit) & np.uint64(1)
    return one << np.uint64(level)


@kernel
def count_at(counts: Any, levels: int, word: Any, bit: Any) -> Any:
    """The count of one item; written out, because a loop takes five times as long."""
    w = np.uint64(word)
    count = bit_at(counts, 0, w, bit) | bit_at(counts, 1, w, bit)
    count |= bit_at(counts, 2, w, bit) | bit_at(counts, 3, w, bit)
    count |= bit_at(counts, 4, w, bit)
    if levels >= MORE:
        count |= bit_at(counts, 5, w, bit) | bit_at(counts, 6, w, bit)
        count |= bit_at(counts, 7, w, bit)
    if levels >= MOST:
        count |= bit_at(counts, 8, w, bit) | bit_at(counts, 9, w, bit)
        count |= bit_at(counts, 10, w, bit)
    return np.int64(count)


@kernel
def spread(query: Any, bits: int, flips: Any) -> None:
    """Every bit of a query as a word of ones or zeros; flips: (bits,)."""
    for f in range(bits):
        flips[f] = np.uint64(0) - ((query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1))


@kernel
def set_planes(query: Any, bits: int, chosen: Any) -> int:
    """Where the planes of the set bits of a query begin in a chunk; returns how many there are."""
    count = 0
    for f in range(bits):
        if (query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1):
            chosen[count] = np.uint64(f * CHUNK_WORDS)
            count += 1
    return count
