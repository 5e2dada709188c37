"""Bits in 64-bit words, the codes made of them, and the machine's own bit operations for kernels.

Bit k of a code is bit k % 64 of word k // 64; a set bit is +1, a clear one -1. The bits after the
last one are zero in every code, so they never count in a distance. Kernels take words; files keep
bytes where words would be filled up (`CodeRows`). Items may have offsets, four bits each.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_array, as_contiguous, positive_int, whole_numbers
from xorec.core.errors import DataError
from xorec.core.kernels import intrinsic

Words = npt.NDArray[np.uint64]
MOST_BITS = 1024
"""The longest code."""


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


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, first: int) -> Any:
    """A pointer to array[index]: the arguments `first` (an array of one dimension) and the next."""
    from numba import types
    from numba.core import cgutils

    of, number = signature.args[first : first + 2]
    array = context.make_array(of)(context, builder, arguments[first])
    index = context.cast(builder, arguments[first + 1], number, types.intp)
    return cgutils.get_item_pointer(context, builder, of, array, [index])


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the machine to bring array[index] (one dimension) into its caches: no wait, no result."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments, 0)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = number(0), number(3), number(1)
        builder.call(call, [builder.bitcast(pointer, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def add_eight(typing_context: Any, sums: Any, at: Any, table: Any, place: Any) -> Any:
    """sums[at + q] += table[place + q] for q = 0 .. 7, float32, as one vector.

    Both arrays have one dimension; their lengths are not checked.
    """
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        eight = ir.VectorType(ir.FloatType(), 8).as_pointer()
        into, more = (
            builder.bitcast(_pointer(context, builder, signature, arguments, first), eight)
            for first in (0, 2)
        )
        total = builder.fadd(builder.load(into, align=4), builder.load(more, align=4))
        builder.store(total, into, align=4)
        return context.get_dummy_value()

    return types.void(sums, at, table, place), generate


def words_for(bits: int) -> int:
    """How many 64-bit words hold this many bits."""
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
    return widen(np.packbits(values >= 0, axis=1, bitorder="little"))


def unpack_signs(words: Words, bits: int) -> npt.NDArray[np.int8]:
    """Rows of +1 and -1, int8 (n, bits): the inverse of `pack_signs`.

    >>> unpack_signs(np.array([[5]], dtype=np.uint64), 3)
    array([[ 1, -1,  1]], dtype=int8)
    """
    as_bytes = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    set_bits = np.unpackbits(as_bytes, axis=1, count=bits, bitorder="little")
    return (2 * set_bits.astype(np.int8) - 1).astype(np.int8)


Offsets = npt.NDArray[np.uint8]
MOST_OFFSET = 15
"""The largest offset of an item: four bits."""
NO_OFFSETS: Offsets = np.zeros(0, dtype=np.uint8)


def as_offsets(values: Any, items: int) -> Offsets:
    """Checked offsets of `items` items (m,); empty for None and for zeros alone."""
    if values is None:
        return NO_OFFSETS
    offsets = whole_numbers(values, "the item offsets")
    if len(offsets) != items:
        raise DataError(f"there are {len(offsets)} item offsets for {items} items: give one each.")
    least, most = int(offsets.min(initial=0)), int(offsets.max(initial=0))
    if least < 0 or most > MOST_OFFSET:
        wrong = least if least < 0 else most
        raise DataError(f"an item has the offset {wrong}: give numbers from 0 to {MOST_OFFSET}.")
    return as_contiguous(offsets.astype(np.uint8, copy=False)) if most else NO_OFFSETS


def joined_offsets(*parts: tuple[Any, int]) -> Offsets:
    """The offsets of several parts of items, joined; a part: (offsets, number of items)."""
    counts = [items for _, items in parts]
    found = [as_offsets(values if np.size(values) else None, n) for values, n in parts]
    if not any(map(len, found)):
        return NO_OFFSETS
    zeros = (np.zeros(n, np.uint8) for n in counts)
    return np.concatenate(
        [one if len(one) else zero for one, zero in zip(found, zeros, strict=True)]
    )


Bytes = npt.NDArray[np.uint8]


class CodeRows:
    """n checked codes of `bits` bits, as words or as bytes; the other form is made when needed.

    kept: the codes as given, words uint64 (n, W) or bytes uint8 (n, ceil(bits / 8)), which are
    those of the words from the first bit on. what: their name in error messages.

    >>> rows = CodeRows(np.array([[5, 0, 8]], dtype=np.uint8), bits=20)
    >>> rows.nbytes, rows.words
    (3, array([[524293]], dtype=uint64))
    """

    def __init__(self, kept: npt.NDArray[Any], bits: int, what: str = "codes") -> None:
        if positive_int(bits, "bits") > MOST_BITS:
            raise DataError(f"bits is {bits}: give a number from 1 to {MOST_BITS}.")
        kept = as_array(kept, f"the {what}")
        widths = {np.dtype(np.uint64): words_for(bits), np.dtype(np.uint8): bytes_for(bits)}
        if kept.dtype not in widths or kept.ndim != 2 or kept.shape[1] != widths[kept.dtype]:
            raise DataError(
                f"the {what} are {kept.dtype} of shape {kept.shape}, but {bits} bits need uint64 "
                f"of shape (n, {words_for(bits)}): pack them with xorec.core.bits.pack_signs."
            )
        if has_bits_behind(kept, bits):
            raise DataError(f"the {what} have bits behind the last of {bits}: these must be zero.")
        self.kept, self.bits = kept, bits
        self._are_words = kept.dtype == np.uint64

    @classmethod
    def of(cls, codes: CodeRows | npt.NDArray[Any], bits: int, what: str = "codes") -> CodeRows:
        """Codes that are checked already, or arrays that are checked now."""
        return codes if isinstance(codes, CodeRows) else cls(codes, bits, what)

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, rows: Any) -> Words:
        """The words of some rows (an array or a slice): only these are made."""
        return self.kept[rows] if self._are_words else widen(self.kept[rows])

    @property
    def nbytes(self) -> int:
        """Bytes of `kept`, and of the words once they are made."""
        made = 0 if self._are_words or "words" not in vars(self) else self.words.nbytes
        return int(self.kept.nbytes + made)

    @property
    def stored(self) -> npt.NDArray[Any]:
        """What a file keeps: words where the bits fill them, else bytes."""
        return as_contiguous(self.words) if self.bits % 64 == 0 else self.bytes

    @cached_property
    def words(self) -> Words:
        """All codes as words (n, W)."""
        return as_contiguous(self.kept if self._are_words else widen(self.kept))

    @property
    def bytes(self) -> Bytes:
        """All codes as bytes (n, ceil(bits / 8))."""
        if not self._are_words:
            return as_contiguous(self.kept)
        every = as_contiguous(self.kept.astype("<u8", copy=False)).view(np.uint8)
        return np.ascontiguousarray(every[:, : bytes_for(self.bits)])


def bytes_for(bits: int) -> int:
    """How many bytes hold this many bits."""
    return -(-bits // 8)


def widen(rows: Bytes) -> Words:
    """Bytes (n, B) as words (n, W), with zeros behind."""
    padded = np.zeros((len(rows), 8 * words_for(8 * rows.shape[1])), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8").astype(np.uint64, copy=False)
