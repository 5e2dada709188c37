"""Arrays as kernels take them, their digest, and the check of a whole number."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError

T = TypeVar("T", bound=np.generic)
Arrays = Mapping[str, npt.NDArray[Any]]


class Hash(Protocol):
    """What hashlib and blake3 give."""

    def update(self, data: Any, /) -> Any: ...


LINE_BYTES = 64
"""A line of the cache."""
APART = 256
"""Numbers between arrays that are surely not close together: see `empty_apart`."""


def as_contiguous(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Contiguous and, for numba's sake, not marked read-only: kernels are compiled for one kind.

    Nothing ever writes to it; a memory-mapped array is mapped copy-on-write (`storage.read`).
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
    """`np.empty`, with APART numbers of nobody around it.

    A loop that sums and stores is run in whole vectors only where what it reads and writes is not
    close together, else number by number, and the two differ in the last digit. Small arrays may
    end up close together by chance.
    """
    count = shape if isinstance(shape, int) else math.prod(shape)
    return np.empty(count + 2 * APART, dtype)[APART : APART + count].reshape(shape)


def empty_aligned(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """`np.empty` that begins where a line of the cache does: what is one line long stays in one.

    >>> empty_aligned((3, 64), np.int8).ctypes.data % 64
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + LINE_BYTES, dtype=np.uint8)
    first = -room.ctypes.data % LINE_BYTES
    made: npt.NDArray[Any] = room[first : first + size].view(dtype).reshape(shape)
    return made


def positive_int(value: object, name: str = "k") -> int:
    """`value` as an int of 1 or more, or an OptionError that says so.

    >>> positive_int(10)
    10
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OptionError(f"{name} is {value!r}: give a whole number of 1 or more.")
    return int(value)


def whole_numbers(values: Any, what: str) -> npt.NDArray[np.integer]:
    """`values` as integers of one dimension, or a DataError; what is one already stays as it is.

    >>> whole_numbers([3, 1], "deny")
    array([3, 1])
    """
    array = as_array(values, what)
    if array.ndim == 1 and not array.size and array.dtype.kind in "fiu":
        return array.astype(np.int64)  # an empty list is of floats
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{what} is {array.dtype} of shape {array.shape}: give whole numbers of one dimension."
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def float_rows(values: Any, what: str, dimensions: int = 2) -> npt.NDArray[np.floating[Any]]:
    """`values` as floats of so many dimensions, or a DataError; float32 stays as it is.

    >>> float_rows([[1, 2]], "user_vectors")
    array([[1., 2.]], dtype=float32)
    """
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


def add_arrays(total: Hash, arrays: Arrays) -> None:
    """Add names, types, shapes and bytes to a hash, in the order of the names."""
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
