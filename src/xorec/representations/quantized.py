"""QuantizedVectors: vectors as a model file stores them, in four bytes a number, two or one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import empty_aligned
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Floats, Rows, Tensors

Keep = Literal["float32", "float16", "int8"]
_NO_SCALES = np.zeros(0, dtype=np.float32)


def quantized_schema(name: str, *, optional: bool = False) -> Schema:
    """Of the vectors of users or items."""
    stored = ("float32", "float16", "int8")
    return {
        f"{name}_vectors": Tensor(stored, (f"{name}s", "dimensions"), optional=optional),
        f"{name}_scales": Tensor("float32", (f"{name}s",), optional=True),
    }


@dataclass(frozen=True, eq=False)
class QuantizedVectors:
    """Vectors in few bytes: rows (n, d) of float32 or float16, or int8 times scales (n,).

    float16 is at most 2**-11 of a number off, int8 at most 1/254 of the largest of its row.

    >>> QuantizedVectors.of(np.array([[1.0, -0.5, 0.25]]), "int8").rows
    array([[127, -64,  32]], dtype=int8)
    """

    rows: npt.NDArray[Any]
    scales: Floats

    @classmethod
    def of(cls, vectors: npt.NDArray[Any], keep: Keep) -> QuantizedVectors:
        """Vectors as `keep` says."""
        vectors = np.asarray(vectors, dtype=np.float32)
        if keep == "int8":
            scales = np.abs(vectors).max(axis=1, initial=0) / np.float32(127)
            steps = vectors / np.where(scales > 0, scales, np.float32(1))[:, None]
            rows = empty_aligned(vectors.shape, np.int8)  # a search gathers rows: fewer lines
            return cls(np.rint(steps, out=rows, casting="unsafe"), scales)
        rows = empty_aligned(vectors.shape, keep)
        with np.errstate(over="ignore"):
            rows[:] = vectors
        if not np.isfinite(rows).all():
            raise DataError(f"some vectors are too large for {keep}, or not finite: keep float32.")
        return cls(rows, _NO_SCALES)

    def floats(self, rows: Rows | slice = slice(None)) -> Floats:
        """The vectors of some rows as float32."""
        if not len(self.scales):
            return self.rows[rows].astype(np.float32, copy=False)
        found: Floats = np.multiply(self.rows[rows], self.scales[rows, None], dtype=np.float32)
        return found

    def grown(self, count: int, rows: Rows, vectors: Floats) -> QuantizedVectors:
        """`count` rows: these, `vectors` at `rows`, and zeros where nothing was given."""
        fresh, more = QuantizedVectors.of(vectors, self.keep), count - len(self.rows)
        stored = empty_aligned((count, self.rows.shape[1]), self.rows.dtype)
        stored[: len(self.rows)], stored[len(self.rows) :] = self.rows, 0
        stored[rows] = fresh.rows
        if self.keep != "int8":
            return QuantizedVectors(stored, _NO_SCALES)
        scales = np.concatenate([self.scales, np.zeros(more, dtype=np.float32)])
        scales[rows] = fresh.scales
        return QuantizedVectors(stored, scales)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.scales.nbytes

    @property
    def keep(self) -> Keep:
        """The type that they are stored as: the setting `keep`."""
        stored_as: Keep = self.rows.dtype.name  # type: ignore[assignment]
        return stored_as

    def tensors(self, name: str) -> Tensors:
        """The arrays to store."""
        scales = {f"{name}_scales": self.scales} if len(self.scales) else {}
        return {f"{name}_vectors": self.rows, **scales}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], name: str) -> QuantizedVectors:
        """The inverse of `tensors`."""
        rows, scales = tensors[f"{name}_vectors"], tensors.get(f"{name}_scales", _NO_SCALES)
        if len(scales) != (len(rows) if rows.dtype == np.int8 else 0):
            raise DataError(f"{len(rows)} {name}_vectors of {rows.dtype} have {len(scales)} scales")
        return cls(rows, scales)
