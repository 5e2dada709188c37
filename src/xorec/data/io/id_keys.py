"""A key of two numbers for each id of a polars series: equal ids, and no others, have equal keys.

The keys of strings are Arrow's "views", as polars holds them, without a copy. A view is 16 bytes:
the length and, up to 12 bytes, the string itself, zeros after its end; else its first four bytes
and the buffer and offset where all of it lies. So the view of a short string says all about it,
and two numbers are compared where a string would have to be looked up.
https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

INLINE = 12
"""The longest string that is in its view, in bytes."""

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


class IdKeys(NamedTuple):
    """words (n, 2): the key of each id, the length in the low half of its first number.

    A long string is in `memory` from `starts[low half of the second] + high half` on.
    """

    words: Words
    starts: Words
    memory: Bytes


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


@contextmanager
def keys_of(ids: pl.Series) -> Iterator[IdKeys]:
    """A key for each id: equal ids of this type, and no others, have equal keys."""
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
