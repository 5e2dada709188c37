"""Raw ids -> compact codes while a file streams by, exactly, in one pass.

An id becomes a key of two numbers, and an open-addressing table gives each new hash of a key the
next code. The key behind a code is kept, and every batch is compared with it, so that two ids with
one hash are noticed (`HashCollision`: read again with another hash seed) and never mixed up.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.data.ids import Ids
from xorec.data.io.id_kernels import (
    Codes,
    IdKeys,
    are_equal,
    count_long_bytes,
    hash_keys,
    keep,
    look_up,
    move_table,
)
from xorec.data.io.id_rules import sorted_ids

if TYPE_CHECKING:
    import polars as pl


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
    >>> ids, rows = encoder.finish(whole_numbers=True)
    >>> list(ids), rows.tolist()
    (['a', 'b'], [1, 0])
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
        needed = self._bytes_used + int(count_long_bytes(keys.words, rows))
        self._long_bytes = grown(self._long_bytes, needed)
        new = self._keys[before : self._count]
        self._bytes_used = int(keep(keys, rows, new, self._long_bytes, self._bytes_used))

    def finish(self, *, whole_numbers: bool) -> tuple[Ids, Codes]:
        """The ids sorted, and the row of each code among them (`id_rules.sorted_ids`)."""
        return sorted_ids(self.known(), whole_numbers=whole_numbers)

    def known(self) -> pl.Series:
        """The ids by their codes."""
        import polars as pl

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
    """A key for each id (see `id_kernels`); those of strings are in polars' own memory."""
    import polars as pl

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
