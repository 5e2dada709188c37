"""Histories: each user's items as sparse rows, with or without weights, also as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.data.text import gather_spans
from xorec.representations.base import Tensors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NO_VALUES = np.zeros(0, dtype=np.float32)
_QUERIES: Schema = {
    "indptr": Tensor("int64", ("queries+1",), offsets_of="indices"),
    "indices": Tensor("int32", ("pairs",), rows_of="items"),
    "data": Tensor("float32", ("pairs",)),
}


def alone(n_items: int) -> csr_array[np.float32]:
    """For each item the history of that item alone: the queries of similar items."""
    from scipy.sparse import eye_array

    return eye_array(n_items, format="csr", dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Histories:
    """Queries that are rows of items: a light sparse matrix.

    Query b has the items indices[indptr[b]:indptr[b + 1]], which count `data`; no data: 1 each.

    >>> Histories.of(alone(3))[1:].toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    data: npt.NDArray[np.float32]
    n_items: int

    @classmethod
    def of(cls, rows: Any) -> Histories:
        """From a sparse matrix; Histories stay as they are; anything else is refused."""
        if isinstance(rows, Histories):
            return rows
        if not all(hasattr(rows, name) for name in ("indptr", "indices", "data", "shape")):
            raise DataError("a query is a row of items: give a sparse matrix (CSR).")
        indptr, indices = np.asarray(rows.indptr, np.int64), np.asarray(rows.indices, np.int32)
        data, (count, n_items) = np.asarray(rows.data, np.float32), rows.shape
        check_tensors(
            {"indptr": indptr, "indices": indices, "data": data},
            _QUERIES,
            {"queries": count, "items": n_items},
        )
        data = NO_VALUES if bool((data == 1).all()) else data
        return cls(as_contiguous(indptr), as_contiguous(indices), as_contiguous(data), n_items)

    @classmethod
    def of_user(cls, items: npt.NDArray[np.int32], n_items: int) -> Histories:
        """The history of one user: rows of items, ascending, each once; not checked."""
        return cls(np.array([0, len(items)], dtype=np.int64), items, NO_VALUES, n_items)

    def value(self, place: int) -> np.float32:
        """The weight of the item at this offset."""
        return self.data[place] if len(self.data) else np.float32(1)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.n_items

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Any) -> Histories:
        """Some of them: a slice, one row, or an array of rows."""
        if isinstance(rows, slice):
            if rows.step in (None, 1):
                first, last, _ = rows.indices(len(self))
                return self._from(first, max(first, last))
            rows = np.arange(len(self))[rows]
        chosen = rows if isinstance(rows, np.ndarray) and rows.ndim else np.atleast_1d(rows)
        if chosen.dtype.kind == "b":
            chosen = np.flatnonzero(chosen)
        if len(chosen) == 1:  # without reading all users' histories
            first = int(chosen[0]) + (len(self) if chosen[0] < 0 else 0)
            if not 0 <= first < len(self):
                raise IndexError(f"row {first} of {len(self)} histories")
            return self._from(first, first + 1)
        pairs, indptr = gather_spans(self.indptr, np.where(chosen < 0, chosen + len(self), chosen))
        data = self.data[pairs] if len(self.data) else self.data
        return Histories(indptr, self.indices[pairs], data, self.n_items)

    def _from(self, first: int, last: int) -> Histories:
        """Those from `first` up to `last`."""
        indptr = self.indptr[first : last + 1]
        begin, end = indptr[0], indptr[-1]
        data = self.data[begin:end] if len(self.data) else self.data
        return Histories(indptr - begin, self.indices[begin:end], data, self.n_items)

    def toarray(self) -> npt.NDArray[np.float32]:
        """Dense, (queries, n_items)."""
        return self.matrix().toarray()

    def matrix(self) -> csr_array[np.float32]:
        """As a sparse matrix."""
        from scipy.sparse import csr_array

        data = self.data if len(self.data) else np.ones(len(self.indices), dtype=np.float32)
        return csr_array((data, self.indices, self.indptr), shape=self.shape)


HISTORY = {
    "history_indptr": Tensor("int64", ("users+1",), offsets_of="history_items"),
    "history_items": Tensor("int32", ("pairs",), rows_of="items"),
    "history_weights": Tensor("float32", ("pairs",), optional=True),
}
"""The schema of a history."""


def pack_history(history: csr_array[np.float32]) -> Tensors:
    """The tensors of a history; ones are not kept."""
    weights = {"history_weights": history.data} if is_weighted(history) else {}
    return {
        "history_indptr": history.indptr.astype(np.int64),
        "history_items": history.indices.astype(np.int32),
        **weights,
    }


WEIGHTS_SCORE = "the sum of what each of the user's items says for the item"


def by_weight(history: csr_array[np.float32]) -> str:
    """The end of a description of a score that sums over a history."""
    return ", each times the root of its weight" if is_weighted(history) else ""


def is_weighted(rows: csr_array[np.float32]) -> bool:
    """Whether some item counts more or less than 1."""
    return bool((rows.data != 1).any())


def unpack_history(tensors: Mapping[str, npt.NDArray[Any]], n_items: int) -> csr_array[np.float32]:
    """The inverse of `pack_history`: sparse (n_users, n_items)."""
    from scipy.sparse import csr_array

    indptr, items = tensors["history_indptr"], tensors["history_items"]
    weights = tensors.get("history_weights")
    values = np.ones(len(items), dtype=np.float32) if weights is None else weights
    return csr_array((values, items, indptr), shape=(len(indptr) - 1, n_items))
