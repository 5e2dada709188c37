"""Arrays that grow at their end as data streams by, and are never held twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
