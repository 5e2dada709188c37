"""Postings: what each item says for others, as lists of items and weights in few bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Keep = Literal["float32", "float16", "int8"]
ONE = np.float32(1)
NO_SCALES = np.zeros(0, dtype=np.float32)


class Postings(NamedTuple):
    """Row i: items[indptr[i]:indptr[i + 1]], for which i speaks, and the weights.

    items: uint16 where all rows fit, else int32. weights: float32, float16, or int8 times the
    scale of row i; no scales otherwise.
    """

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[Any]
    weights: npt.NDArray[Any]
    scales: npt.NDArray[np.float32]

    @classmethod
    def of(cls, similarity: csr_array[np.float32], keep: Keep = "float32") -> Postings:
        """The rows of a sparse matrix (m, m), items ascending, weights as `keep` says."""
        if not similarity.has_sorted_indices:
            similarity = similarity.sorted_indices()
        indptr = similarity.indptr.astype(np.int64, copy=False)
        items = similarity.indices.astype(item_type(len(indptr) - 1), copy=False)
        weights = similarity.data.astype(np.float32, copy=False)
        return cls(indptr, items, *in_few_bytes(indptr, weights, keep))

    @property
    def n_items(self) -> int:
        return len(self.indptr) - 1

    @property
    def keep(self) -> str:
        """The type of the weights."""
        return str(self.weights.dtype.name)

    def row(
        self, item: int, value: np.float32 = ONE
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
        """(items, weights) that an item speaks for, times `value`."""
        part = slice(self.indptr[item], self.indptr[item + 1])
        scale = value * self.scales[item] if len(self.scales) else value
        return self.items[part], self.weights[part].astype(np.float32) * scale

    def matrix(self) -> csr_array[np.float32]:
        """As a sparse matrix (m, m) of float32."""
        from scipy.sparse import csr_array

        weights = self.weights.astype(np.float32)
        if len(self.scales):
            weights *= np.repeat(self.scales, np.diff(self.indptr))
        items = self.items.astype(np.int32)
        return csr_array((weights, items, self.indptr), shape=(self.n_items, self.n_items))

    def extended(self, n_items: int) -> Postings:
        """With rows of nothing for items that have come since."""
        more = n_items - self.n_items
        scales = np.pad(self.scales, (0, more)) if len(self.scales) else self.scales
        return self._replace(indptr=np.pad(self.indptr, (0, more), mode="edge"), scales=scales)

    def columns(self, kept: npt.NDArray[np.bool_]) -> csr_array[np.float32]:
        """The weights for those items that are `kept` (m,), as a sparse matrix (m, m)."""
        matrix = self.matrix()
        there = kept[matrix.indices]
        indptr = np.concatenate([[0], np.cumsum(there)])[self.indptr]
        rest = (matrix.data[there], matrix.indices[there], indptr)
        return type(matrix)(rest, shape=matrix.shape)

    def between(self, start: int, stop: int) -> Postings:
        """What is said for the items from `start` up to `stop`, which count from 0 then.

        >>> said = Postings(np.array([0, 2, 3]), np.array([0, 1, 1]), np.ones(3), NO_SCALES)
        >>> said.between(1, 2).indptr, said.between(1, 2).items
        (array([0, 1, 2]), array([0, 0]))
        """
        there = (self.items >= start) & (self.items < stop)
        indptr = np.concatenate([[0], np.cumsum(there)])[self.indptr]
        items = (self.items[there].astype(np.int64) - start).astype(self.items.dtype)
        return Postings(indptr, items, self.weights[there], self.scales)

    def for_kernels(self) -> Postings:
        """The same with the bits of float16 as whole numbers, which numba reads."""
        if self.weights.dtype != np.float16:
            return self
        return self._replace(weights=self.weights.view(np.uint16))


def item_type(n_items: int) -> npt.DTypeLike:
    """The smallest type that holds the row of any item."""
    return np.uint16 if n_items <= 1 << 16 else np.int32


def in_few_bytes(
    indptr: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], keep: Keep
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """(weights, scales) as `keep` says; the scale of a row is its largest size / 127.

    >>> in_few_bytes(np.array([0, 2, 2]), np.array([0.5, -0.25], dtype=np.float32), "int8")[0]
    array([127, -64], dtype=int8)
    """
    if keep != "int8":
        with np.errstate(over="ignore"):
            kept = weights.astype(keep, copy=False)
        if not np.isfinite(kept).all():
            raise DataError(f"some weights are too large for {keep}, or not finite: keep float32.")
        return kept, NO_SCALES
    lengths = np.diff(indptr)
    scales = np.zeros(len(lengths), dtype=np.float32)
    if len(weights):
        full = lengths > 0
        scales[full] = np.maximum.reduceat(np.abs(weights), indptr[:-1][full]) / np.float32(127)
    steps = np.repeat(np.where(scales > 0, scales, np.float32(1)), lengths)
    return np.rint(weights / steps).astype(np.int8), scales
