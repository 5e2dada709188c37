"""Arrays that grow as a file streams by, and the passes over them that need no copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.kernels import kernel

_STEP = 1 << 20


class GrowingArray:
    """An array that grows at its end; the memory is moved by the system and never held twice."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._values: npt.NDArray[Any] = np.empty(_STEP, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, more: npt.NDArray[Any]) -> None:
        """Add values at the end."""
        end = self._size + len(more)
        if end > len(self._values):
            self._values.resize(max(end, len(self._values) * 5 // 4), refcheck=False)
        self._values[self._size : end] = more
        self._size = end

    def finish(self) -> npt.NDArray[Any]:
        """The array, cut to its size; nothing can be added afterwards."""
        self._values.resize(self._size, refcheck=False)
        return self._values


@kernel
def take(values: npt.NDArray[Any], places: npt.NDArray[np.int32]) -> Any:
    """`values[places]`; NumPy takes four times as long, for it first widens the places."""
    taken = np.empty(len(places), dtype=values.dtype)
    for at in range(len(places)):
        taken[at] = values[places[at]]
    return taken


@kernel
def renumber(codes: npt.NDArray[np.int32], rows: npt.NDArray[np.int32]) -> None:
    """`codes[:] = rows[codes]`, in place."""
    for at in range(len(codes)):
        codes[at] = rows[codes[at]]
