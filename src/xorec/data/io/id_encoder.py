"""IdEncoder: raw ids to compact codes while a file streams by, exactly, in one pass.

An id becomes a key of two numbers, and an open-addressing table gives each new hash of a key the
next code. The key behind a code is kept, and every batch is compared with it, so that two ids with
one hash are noticed (`HashCollision`: read again with another hash seed) and never mixed up.

Equal ids, and no others, have equal keys. A number is the second of the two, with 0 before it. The
key of a string is Arrow's "view" of it, 16 bytes: the length and, up to 12 bytes, the string
itself, zeros after its end; else its first four bytes and the buffer and offset where all of it
lies. So the key of a short string says all about it. Of a long string a kept key has the place
among `long_bytes` as its second number.

Why not polars: on 10 million ids (1 million distinct) its unique, sort and join take 2 to 3 times
the processor time, and need the whole column in memory; its hash with a comparison of the ids
themselves takes 1.3 times (integers) to 2.3 times (text).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from xorec.core.kernels import inlined, kernel

_FIRST_SIZE = 1 << 20


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with room for at least `size` rows; the memory is moved by the system."""
    if size > len(array):
        rows = max(size, len(array) * 5 // 4)
        array.resize((rows, *array.shape[1:]), refcheck=False)
    return array


class GrowingArray:
    """An array that grows at its end.

    >>> array = GrowingArray(np.int32)
    >>> array.extend(np.array([1, 2])); array.extend(np.array([3]))
    >>> array.finish()
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._values: npt.NDArray[Any] = np.empty(_FIRST_SIZE, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, more: npt.NDArray[Any]) -> None:
        """Add values at the end."""
        end = self._size + len(more)
        self._values = grown(self._values, end)
        self._values[self._size : end] = more
        self._size = end

    def finish(self) -> npt.NDArray[Any]:
        """The array, cut to its size; nothing can be added afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values


class HashCollision(Exception):  # noqa: N818 - not an error: the reader tries again
    """Two different ids have the same hash."""


class IdEncoder:
    """Gives the ids of one column the codes 0, 1, 2, ... in the order of their first appearance.

    >>> import polars as pl
    >>> encoder = IdEncoder()
    >>> encoder.add(pl.Series(["b", "a", "b"])).tolist()
    [0, 1, 0]
    >>> encoder.known().to_list()
    ['b', 'a']
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._table = np.zeros((1 << 12, 2), dtype=np.uint64)
        self._keys = np.empty((0, 2), dtype=np.uint64)
        self._long_bytes = np.empty(0, dtype=np.uint8)
        self._count = self._bytes_used = 0
        self._pieces: list[pl.Series] = []

    def add(self, ids: pl.Series) -> Codes:
        """The codes of a batch of ids (no nulls, of one type in all batches), new ones taken in."""
        codes = np.empty(len(ids), dtype=np.int32)
        if len(ids) == 0:
            return codes
        self._make_room(len(ids))
        with keys_of(ids) as keys:
            rows = np.empty(len(ids), dtype=np.int32)
            fresh = look_up(hash_keys(keys, self._seed), self._table, self._count, codes, rows)
            if fresh:
                self._keep(ids, keys, rows[:fresh])
            if not are_equal(keys, codes, self._keys, self._long_bytes):
                raise HashCollision
        return codes

    def _keep(self, ids: pl.Series, keys: IdKeys, rows: Codes) -> None:
        """Keep the ids at these rows, and their keys."""
        self._pieces.append(ids.gather(rows))
        before, self._count = self._count, self._count + len(rows)
        self._keys = grown(self._keys, self._count)
        sizes = keys.words[rows, 0] & _LOW
        long_bytes = int(sizes[sizes > INLINE].sum())
        self._long_bytes = grown(self._long_bytes, self._bytes_used + long_bytes)
        new = self._keys[before : self._count]
        self._bytes_used = int(keep(keys, rows, new, self._long_bytes, self._bytes_used))

    def known(self) -> pl.Series:
        """The ids by their codes."""
        if not self._pieces:
            return pl.Series([], dtype=pl.String)
        self._pieces = [pl.concat(self._pieces, rechunk=True)]
        return self._pieces[0]

    def _make_room(self, more: int) -> None:
        """Keep the table at most half full."""
        needed = 2 * (self._count + more)
        if needed > len(self._table):
            bigger = np.zeros((1 << (needed - 1).bit_length(), 2), dtype=np.uint64)
            move_table(self._table, bigger)
            self._table = bigger


@contextmanager
def keys_of(ids: pl.Series) -> Iterator[IdKeys]:
    """A key for each id (see the module); those of strings are in polars' own memory."""
    plain = ids.to_physical()
    is_wide = plain.dtype in (pl.Int128, pl.UInt128)
    if plain.dtype == pl.Boolean or (plain.dtype.is_integer() and not is_wide):
        yield _number_keys(plain.to_numpy().astype(np.uint64, copy=False))
    elif plain.dtype.is_float():
        floats = plain.to_numpy().astype(np.float64, copy=False) + 0.0  # -0.0 is 0.0
        yield _number_keys(floats.view(np.uint64))
    else:
        strings = plain if plain.dtype in (pl.String, pl.Binary) else ids.cast(pl.String)
        with _views_of(strings) as keys:
            yield keys


def _number_keys(numbers: npt.NDArray[np.uint64]) -> IdKeys:
    """Numbers as the second halves of keys: with 0 before it, each counts as a short string."""
    words = np.zeros((len(numbers), 2), dtype=np.uint64)
    words[:, 1] = numbers
    return IdKeys(words, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8))


@contextmanager
def _views_of(strings: pl.Series) -> Iterator[IdKeys]:
    """The views of a String or Binary series (not empty); valid inside the `with` only."""
    capsule = strings.rechunk().__arrow_c_stream__()  # releases the stream when it is dropped
    address = _pointer_of(capsule, b"arrow_array_stream")
    array = _Array()
    if _Stream.from_address(address).get_next(address, ctypes.addressof(array)):
        raise MemoryError("polars could not hand over a column of text.")
    try:
        yield _string_keys(array)
    finally:
        array.release(ctypes.addressof(array))


def _string_keys(array: _Array) -> IdKeys:
    """Arrow's buffers: validity, views, the buffers of long strings, the sizes of these."""
    buffers = range(2, array.n_buffers - 1)
    sizes = _array_at(ctypes.c_int64, array.buffers[array.n_buffers - 1] or 0, len(buffers))
    starts = np.array([array.buffers[at] or 0 for at in buffers], dtype=np.uint64)
    words = _array_at(ctypes.c_uint64, array.buffers[1] + 16 * array.offset, 2 * array.length)
    words = words.reshape(-1, 2)
    used = sizes > 0
    if not used.any():
        return IdKeys(words, starts, np.empty(0, dtype=np.uint8))
    # one window from the first buffer to the end of the last; what lies between is not touched
    begin, end = starts[used].min(), (starts + sizes.astype(np.uint64))[used].max()
    return IdKeys(words, starts - begin, _array_at(ctypes.c_uint8, int(begin), int(end - begin)))


def _array_at(kind: Any, address: int, count: int) -> npt.NDArray[Any]:
    """The numbers at this address as an array."""
    if count == 0:
        return np.empty(0, dtype=kind)
    return np.ctypeslib.as_array((kind * count).from_address(address))


class _Array(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


class _Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


INLINE = 12
"""The longest string that is in its view, in bytes."""

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]


class IdKeys(NamedTuple):
    """words (n, 2): the key of each id, the length in the low half of its first number.

    A long string is in `memory` from `starts[low half of the second] + high half` on.
    """

    words: Words
    starts: Words
    memory: Bytes


_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _size(first: Any) -> Any:
    return first & _LOW


@inlined
def _eight(data: Any, at: Any) -> Any:
    """Eight bytes as a number; the compiler makes one load of it."""
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(data[at + np.uint64(place)]) << np.uint64(8 * place)
    return word


@inlined
def _mix(hashed: Any, word: Any) -> Any:
    product = (hashed ^ word) * _ODD
    return product ^ (product >> _HALF)


@inlined
def _place(second: Any, starts: Any) -> Any:
    """Where a long string lies in the memory of its batch."""
    return starts[second & _LOW] + (second >> _HALF)


@inlined
def _same(data: Any, at: Any, other: Any, place: Any, size: Any) -> Any:
    """Whether two long strings of this size are equal."""
    last = size - np.uint64(8)
    done = np.uint64(0)
    while done < last:
        if _eight(data, at + done) != _eight(other, place + done):
            return False
        done += np.uint64(8)
    return _eight(data, at + last) == _eight(other, place + last)


@kernel
def hash_keys(keys: IdKeys, seed: int) -> Any:
    """A hash of each key."""
    words, memory = keys.words, keys.memory
    hashes = np.empty(len(words), dtype=np.uint64)
    for row in range(len(words)):
        first, tail = words[row, 0], words[row, 1]
        hashed = _mix(_ODD + np.uint64(seed), first)
        if _size(first) > INLINE:
            at = _place(tail, keys.starts)
            last = at + _size(first) - np.uint64(8)
            while at < last:
                hashed = _mix(hashed, _eight(memory, at))
                at += np.uint64(8)
            tail = _eight(memory, last)
        # once more, for a product takes the high bits of the tail to its own high bits only
        hashes[row] = _mix(_mix(hashed, tail), np.uint64(0))
    return hashes


@kernel
def look_up(hashes: Words, table: Words, count: int, codes: Codes, first_rows: Codes) -> Any:
    """Fill `codes` with the code of each hash; new hashes get codes from `count` on.

    A line of the table is a hash and its code + 1, side by side in memory; 0 is no code. Returns
    how many were new; their rows are in `first_rows`.
    """
    mask = np.uint64(len(table) - 1)
    fresh = 0
    for row in range(len(hashes)):
        key = hashes[row]
        slot = key & mask
        while table[slot, 1] != 0 and table[slot, 0] != key:
            slot = (slot + np.uint64(1)) & mask
        if table[slot, 1] == 0:
            table[slot, 0] = key
            table[slot, 1] = np.uint64(count + fresh + 1)
            first_rows[fresh] = row
            fresh += 1
        codes[row] = np.int32(table[slot, 1] - np.uint64(1))
    return fresh


@kernel
def move_table(table: Words, bigger: Words) -> None:
    """Put every line into the bigger table."""
    mask = np.uint64(len(bigger) - 1)
    for old in range(len(table)):
        if table[old, 1] != 0:
            slot = table[old, 0] & mask
            while bigger[slot, 1] != 0:
                slot = (slot + np.uint64(1)) & mask
            bigger[slot, 0] = table[old, 0]
            bigger[slot, 1] = table[old, 1]


@kernel
def keep(keys: IdKeys, rows: Codes, kept: Words, long_bytes: Bytes, used: int) -> Any:
    """Fill `kept` with the keys at `rows`, and `long_bytes` after the `used` with long strings.

    Returns how many bytes are in use now.
    """
    end = np.uint64(used)
    for new in range(len(rows)):
        first, second = keys.words[rows[new], 0], keys.words[rows[new], 1]
        if _size(first) > INLINE:
            at = _place(second, keys.starts)
            second = end
            for offset in range(_size(first)):
                long_bytes[end] = keys.memory[at + offset]
                end += np.uint64(1)
        kept[new, 0], kept[new, 1] = first, second
    return end


@kernel
def are_equal(keys: IdKeys, codes: Codes, kept: Words, long_bytes: Bytes) -> Any:
    """Whether every key equals the kept key of its code."""
    words = keys.words
    differ = np.uint64(0)
    for row in range(len(words)):
        first, second, code = words[row, 0], words[row, 1], np.uint64(codes[row])
        differ |= first ^ kept[code, 0]
        if _size(first) <= INLINE:
            differ |= second ^ kept[code, 1]
        elif first != kept[code, 0] or not _same(
            keys.memory, _place(second, keys.starts), long_bytes, kept[code, 1], _size(first)
        ):
            return False
    return differ == 0


@kernel
def renumber(codes: Codes, rows: Codes) -> None:
    """`codes[:] = rows[codes]`, in place."""
    for at in range(len(codes)):
        codes[at] = rows[codes[at]]
