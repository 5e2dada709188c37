"""Bits in 64-bit words: packing signs, and the machine's own popcount for kernels.

Bit k of a code is bit k % 64 of word k // 64; a set bit is +1, a clear one -1. The bits after the
last one are zero in every code, so they never count in a distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import intrinsic

Words = npt.NDArray[np.uint64]
MOST_BITS = 1024
"""Of a code."""


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """The number of set bits of a uint64 or uint8: one instruction where the machine has it."""
    from numba import types

    if word not in (types.uint64, types.uint8):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """The place of the lowest set bit of a uint64; 64 for zero."""
    from llvmlite import ir
    from numba import types

    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the machine to bring array[index] (one dimension) into its caches: no wait, no result."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of, at = signature.args
        found = context.make_array(of)(context, builder, arguments[0])
        place = context.cast(builder, arguments[1], at, types.intp)
        pointer = cgutils.get_item_pointer(context, builder, of, found, [place])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = number(0), number(3), number(1)
        builder.call(call, [builder.bitcast(pointer, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def add_eight(typing_context: Any, sums: Any, at: Any, table: Any, place: Any) -> Any:
    """sums[at + q] += table[place + q] for q = 0 .. 7, float32, in one go: the compiler would not.

    Both arrays have one dimension; nothing checks that they are long enough.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def pointer(first: int) -> Any:
            of, number = signature.args[first : first + 2]
            found = context.make_array(of)(context, builder, arguments[first])
            index = context.cast(builder, arguments[first + 1], number, types.intp)
            one = cgutils.get_item_pointer(context, builder, of, found, [index])
            return builder.bitcast(one, ir.VectorType(ir.FloatType(), 8).as_pointer())

        into = pointer(0)
        total = builder.fadd(builder.load(into, align=4), builder.load(pointer(2), align=4))
        builder.store(total, into, align=4)
        return context.get_dummy_value()

    return types.void(sums, at, table, place), generate


def words_for(bits: int) -> int:
    """How many 64-bit words hold this many bits.

    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return -(-bits // 64)


def has_bits_behind(rows: npt.NDArray[np.unsignedinteger[Any]], bits: int) -> bool:
    """Whether codes, (n, W) words or (n, B) bytes, have a bit set behind the last of `bits`.

    >>> has_bits_behind(np.array([[0b100]], dtype=np.uint64), bits=2)
    True
    """
    used = bits % (8 * rows.itemsize)
    return bool(used and len(rows) and int(rows[:, -1].max()) >> used)


def pack_signs(values: npt.NDArray[Any]) -> Words:
    """The signs of rows of numbers (n, d) as words (n, words): set where the value is >= 0.

    >>> pack_signs(np.array([[0.5, -1.0, 2.0]]))
    array([[5]], dtype=uint64)
    """
    rows, bits = values.shape
    padded = np.zeros((rows, 8 * words_for(bits)), dtype=np.uint8)
    packed = np.packbits(values >= 0, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack_signs(words: Words, bits: int) -> npt.NDArray[np.int8]:
    """Rows of +1 and -1, int8 (n, bits): the inverse of `pack_signs`.

    >>> unpack_signs(np.array([[5]], dtype=np.uint64), 3)
    array([[ 1, -1,  1]], dtype=int8)
    """
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    set_bits = np.unpackbits(as_bytes, axis=1, count=bits, bitorder="little")
    return (2 * set_bits.astype(np.int8) - 1).astype(np.int8)
