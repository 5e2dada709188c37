"""Arrays as kernels take them, their digest, and the check of a whole number."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError

T = TypeVar("T", bound=np.generic)
Arrays = Mapping[str, npt.NDArray[Any]]


LINE_BYTES = 64
"""A cache line."""
APART = 256
"""Unused numbers on each side of an array of `empty_apart`."""


def as_contiguous(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Contiguous and not marked read-only, as kernels are compiled; nothing writes to it.

    Memory-mapped arrays are mapped copy-on-write (`storage.read`).
    """
    if type(array) is np.ndarray and array.flags.carray:
        return array
    array = np.ascontiguousarray(array)
    if not array.flags.writeable:
        array = array.view()
        try:
            array.flags.writeable = True
        except ValueError:  # memory that cannot be written to
            array = array.copy()
    return array


def empty_apart(shape: int | tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """`np.empty` with APART unused numbers on each side.

    A compiled loop uses whole vectors only where the arrays that it reads and writes are not close
    together; else it goes number by number, and sums differ in the last digit.
    """
    count = shape if isinstance(shape, int) else math.prod(shape)
    return np.empty(count + 2 * APART, dtype)[APART : APART + count].reshape(shape)


def empty_aligned(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """`np.empty` that begins at a cache line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE_BYTES, dtype=np.uint8)
    first = -room.ctypes.data % LINE_BYTES
    made: npt.NDArray[Any] = room[first : first + size].view(dtype).reshape(shape)
    return made


def positive_int(value: object, name: str = "k") -> int:
    """`value` as an int of 1 or more, or an OptionError that says so."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OptionError(f"{name} is {value!r}: give a whole number of 1 or more.")
    return int(value)


def whole_numbers(values: Any, what: str) -> npt.NDArray[np.integer]:
    """`values` as integers of one dimension, or a DataError; what is one already stays as it is."""
    array = as_array(values, what)
    if array.ndim == 1 and not array.size and array.dtype.kind in "fiu":
        return array.astype(np.int64)  # an empty list is of floats
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{what} is {array.dtype} of shape {array.shape}: give whole numbers of one dimension."
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def float_rows(values: Any, what: str, dimensions: int = 2) -> npt.NDArray[np.floating[Any]]:
    """`values` as floats of so many dimensions, or a DataError; float32 stays as it is."""
    array = as_array(values, what)
    if array.ndim != dimensions or array.dtype.kind not in "fiub":
        raise DataError(
            f"{what} is {array.dtype} of shape {array.shape}: give numbers of {dimensions} "
            f"dimension{'s' * (dimensions > 1)}."
        )
    if array.dtype in (np.float32, np.float64):
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def as_array(values: Any, what: str) -> npt.NDArray[Any]:
    """`values` as an array, or a DataError."""
    if type(values) is np.ndarray:
        return values
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise DataError(f"{what} is no array: {error}.") from None


def digest(arrays: Arrays) -> str:
    """A fingerprint of names, types, shapes and bytes."""
    total = hashlib.blake2b(digest_size=16)
    add_arrays(total, arrays)
    return total.hexdigest()


def add_arrays(total: Any, arrays: Arrays) -> None:
    """Add names, types, shapes and bytes to a hash (`update`), in the order of the names."""
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
