"""Counting set bits of many words side by side: full adders, written as the machine's vectors.

A number is kept as planes: word w of plane l holds bit l of the counts of 64 items. Four words (256
items) go through the adders at once and their counters stay in registers from the first plane to
the last, which a compiler of loops over words does not see: so these functions are written in
LLVM's own language. It works on any machine; one without vectors takes four words in turn.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from xorec.core.kernels import intrinsic

CHUNK_WORDS = 32
"""Words in a plane of a chunk."""
LANES = 4
"""Words that are counted at once."""
LAG_PLANES = 4
"""Planes of the lags of a chunk, where items have offsets: see `arrays`."""
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
