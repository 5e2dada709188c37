"""Arrays that grow as a file streams by, and the passes over them that need no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.threads import ThreadPool, available_threads

_STEP = 1 << 20


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array with room for at least `size` lines; the memory is moved by the system."""
    if size > len(array):
        lines = max(size, len(array) * 5 // 4)
        array.resize((lines, *array.shape[1:]), refcheck=False)
    return array


class GrowingArray:
    """An array that grows at its end, and is never held twice."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._values: npt.NDArray[Any] = np.empty(_STEP, dtype=dtype)
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


def take(values: npt.NDArray[Any], places: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """`values[places]`; NumPy takes four times as long, for it first widens the places."""
    taken = np.empty(len(places), dtype=values.dtype)
    with ThreadPool(available_threads() if len(places) > _STEP else 1) as pool:
        pool.map_ranges(len(places), lambda begin, end: _take(values, places, begin, end, taken))
    return taken


@kernel
def _take(
    values: npt.NDArray[Any],
    places: npt.NDArray[np.int32],
    begin: int,
    end: int,
    taken: npt.NDArray[Any],
) -> None:
    for at in range(begin, end):
        taken[at] = values[places[at]]


@kernel
def renumber(codes: npt.NDArray[np.int32], rows: npt.NDArray[np.int32]) -> None:
    """`codes[:] = rows[codes]`, in place."""
    for at in range(len(codes)):
        codes[at] = rows[codes[at]]
