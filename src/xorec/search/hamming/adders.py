"""Counting set bits of many words side by side: full adders, written as the machine's vectors.

A number is kept as planes: word w of plane l holds bit l of the counts of 64 items. Four words (256
items) go through the adders at once and their counters stay in registers from the first plane to
the last, which a compiler of loops over words does not see: so these functions are written in
LLVM's own language. It works on any machine; one without vectors takes four words in turn.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

RUN = 32
"""Words in a plane of a run."""
LANES = 4
"""Words that are counted at once."""
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

    def data(self, number: int) -> Any:
        """Where the array that is argument `number` begins."""
        make = self._context.make_array(self._types[number])
        return make(self._context, self.builder, self._arguments[number]).data

    def number(self, number: int) -> Any:
        """The argument `number` as a word."""
        kind = self._types[number]
        return self._context.cast(self.builder, self._arguments[number], kind, types.uint64)

    def at(self, data: Any, place: Any) -> Any:
        """Where LANES words at `place` of an array are."""
        return self.builder.bitcast(self.builder.gep(data, [place]), _VECTOR.as_pointer())

    def load(self, data: Any, place: Any) -> Vector:
        """LANES words at `place`."""
        return self.builder.load(self.at(data, place), align=8)

    def store(self, value: Vector, data: Any, place: Any) -> None:
        """The inverse of `load`."""
        self.builder.store(value, self.at(data, place), align=8)

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

    @intrinsic  # type: ignore[untyped-decorator]
    def count(
        typing_context: Any,
        planes: Any,
        at: Any,
        flips: Any,
        first: Any,
        last: Any,
        masked: Any,
        counters: Any,
        word: Any,
        bound: Any,
        open_: Any,
        place: Any,
        found: Any,
    ) -> Any:
        """Count the planes first .. last - 1 for LANES words; say which counts are below `bound`.

        Plane f is planes[at + f RUN:], XORed with the word flips[f]. masked, unless None: it is
        planes[at + flips[f]:], turned round. counters[word + l RUN:]: bit l of the counts, added to
        unless first is 0. found[word:]: those below `bound` whose bit in open_[place:] is set.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Adders(context, builder, signature, arguments)
            planes_at, flips_at, counters_at = code.data(0), code.data(2), code.data(6)
            begin, first, last, word = (code.number(number) for number in (1, 3, 4, 7))
            own = [cgutils.alloca_once(builder, _VECTOR) for _ in range(levels)]
            kept = [builder.add(word, _WORD(level * RUN)) for level in range(levels)]
            for counter in own:
                builder.store(_ZEROS, counter)
            with builder.if_then(builder.icmp_unsigned("!=", first, _WORD(0))):
                for counter, where in zip(own, kept, strict=True):
                    builder.store(code.load(counters_at, where), counter)

            def plane(number: Any) -> Vector:
                flip = builder.load(builder.gep(flips_at, [number]))
                if isinstance(masked, types.NoneType):
                    there = builder.add(begin, builder.mul(number, _WORD(RUN)))
                    return builder.xor(code.load(planes_at, there), code.everywhere(flip))
                return builder.xor(code.load(planes_at, builder.add(begin, flip)), _ONES)

            now = cgutils.alloca_once_value(builder, first)

            def add(size: int) -> None:
                start = builder.load(now)
                code.add(own, [plane(builder.add(start, _WORD(f))) for f in range(size)])
                builder.store(builder.add(start, _WORD(size)), now)

            count = builder.sub(last, first)
            with cgutils.for_range(builder, builder.udiv(count, _WORD(_GROUP))):
                add(_GROUP)
            for size in (8, 4, 2, 1):
                rest = builder.and_(count, _WORD(size))
                with builder.if_then(builder.icmp_unsigned("!=", rest, _WORD(0))):
                    add(size)
            for counter, where in zip(own, kept, strict=True):
                code.store(builder.load(counter), counters_at, where)
            near = code.below(own, code.number(8))
            near = builder.and_(near, code.load(code.data(9), code.number(10)))
            code.store(near, code.data(11), word)
            return context.get_dummy_value()

        given = (planes, at, flips, first, last, masked, counters, word, bound, open_, place, found)
        return types.void(*given), generate

    return count


count_to_31 = _counting(5)
count_to_255 = _counting(8)
count_to_2047 = _counting(11)
