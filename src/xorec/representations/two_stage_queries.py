"""TwoStageQueries: what stands for users in two stages: codes, vectors and histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.bits import Words
from xorec.representations.base import Floats
from xorec.representations.histories import Histories

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class TwoStageQueries:
    """codes (B, W) find; vectors (B, d) and histories (B rows of items) also put in order.

    vectors: None where there are none. histories: None where nothing looks at own items.

    >>> queries = TwoStageQueries(np.array([[1], [2]], dtype=np.uint64), None, None)
    >>> len(queries), queries[1].codes.tolist()
    (2, [[2]])
    """

    codes: Words
    vectors: Floats | None
    histories: Histories | None

    def __post_init__(self) -> None:
        if not _are_rows(self.codes, np.uint64):
            object.__setattr__(self, "codes", _rows(self.codes))
        if self.vectors is not None and not _are_rows(self.vectors, np.float32):
            vectors = np.asarray(self.vectors, dtype=np.float32)
            object.__setattr__(self, "vectors", _rows(vectors))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> TwoStageQueries:
        """Some of them: a slice, one row, or an array of rows."""
        if isinstance(rows, int | np.integer):
            rows = slice(rows, rows + 1) if rows >= 0 else slice(rows, rows + 1 or None)
        return TwoStageQueries(
            self.codes[rows],
            None if self.vectors is None else self.vectors[rows],
            None if self.histories is None else self.histories[rows],
        )


def _are_rows(array: npt.NDArray[Any], number: type[np.generic]) -> bool:
    """Whether kernels take it as it is: one query costs no more than these questions."""
    return (
        type(array) is np.ndarray
        and array.ndim == 2
        and array.dtype == number
        and array.flags.carray
    )


def _rows(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Of two dimensions, as kernels take them."""
    return as_contiguous(array if array.ndim == 2 else np.atleast_2d(array))
