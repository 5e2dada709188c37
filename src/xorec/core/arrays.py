"""Arrays as kernels take them, their digest, and the check of a whole number."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError

T = TypeVar("T", bound=np.generic)
Arrays = Mapping[str, npt.NDArray[Any]]


class Hash(Protocol):
    """What hashlib and blake3 give."""

    def update(self, data: Any, /) -> Any: ...


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


def positive_int(value: object, name: str = "k") -> int:
    """`value` as an int of 1 or more, or an OptionError that says so.

    >>> positive_int(10)
    10
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise OptionError(f"{name} is {value!r}: give a whole number of 1 or more.")
    return int(value)


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
