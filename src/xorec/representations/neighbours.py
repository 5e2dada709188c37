"""Neighbours: sparse weights between items, as postings in few bytes, and each user's history.

The result of item-kNN, of SLIM and of EASE with few weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.errors import DataError
from xorec.core.kernels import numpy_first
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations.base import (
    NO_SCALES,
    Representation,
    Rows,
    Scores,
    StoredAs,
    Tensors,
)
from xorec.representations.histories import (
    HISTORY,
    WEIGHTS_SCORE,
    Histories,
    alone,
    by_weight,
    pack_history,
    unpack_history,
)
from xorec.representations.neighbours_kernels import Scratches, add_all, score_candidates

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ONE = np.float32(1)


class Postings(NamedTuple):
    """Row i: the items[indptr[i]:indptr[i + 1]] that item i recommends, and the weights.

    items: uint16 where all rows fit, else int32. weights: float32, float16, or int8 times the
    scale of row i; no scales otherwise.
    """

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[Any]
    weights: npt.NDArray[Any]
    scales: npt.NDArray[np.float32]

    @classmethod
    def of(cls, similarity: csr_array[np.float32], keep: StoredAs = "float32") -> Postings:
        """The rows of a sparse matrix (m, m), items ascending, weights as `keep` says."""
        if not similarity.has_sorted_indices:
            similarity = similarity.sorted_indices()
        indptr = similarity.indptr.astype(np.int64, copy=False)
        rows = np.uint16 if len(indptr) - 1 <= 1 << 16 else np.int32
        items = similarity.indices.astype(rows, copy=False)
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
        """The (items, weights) of one row, times `value`."""
        part = slice(self.indptr[item], self.indptr[item + 1])
        scale = value * self.scales[item] if len(self.scales) else value
        weights = self.weights[part]
        if weights.dtype == np.uint16:  # see `for_kernels`
            weights = weights.view(np.float16)
        return self.items[part], weights.astype(np.float32) * scale

    def matrix(self) -> csr_array[np.float32]:
        """As a sparse matrix (m, m) of float32."""
        from scipy.sparse import csr_array

        weights = self.weights.astype(np.float32)
        if len(self.scales):
            weights *= np.repeat(self.scales, np.diff(self.indptr))
        items = self.items.astype(np.int32)
        return csr_array((weights, items, self.indptr), shape=(self.n_items, self.n_items))

    def extended(self, n_items: int) -> Postings:
        """With empty rows for new items."""
        more = n_items - self.n_items
        scales = np.pad(self.scales, (0, more)) if len(self.scales) else self.scales
        return self._replace(indptr=np.pad(self.indptr, (0, more), mode="edge"), scales=scales)

    def columns(self, kept: npt.NDArray[np.bool_]) -> csr_array[np.float32]:
        """The weights of the columns `kept` (m,), as a sparse matrix (m, m)."""
        matrix = self.matrix()
        there = kept[matrix.indices]
        indptr = np.concatenate([[0], np.cumsum(there)])[self.indptr]
        rest = (matrix.data[there], matrix.indices[there], indptr)
        return type(matrix)(rest, shape=matrix.shape)

    def for_kernels(self) -> Postings:
        """The postings with the bits of float16 as uint16, which numba can read."""
        if self.weights.dtype != np.float16:
            return self
        return self._replace(weights=self.weights.view(np.uint16))


def in_few_bytes(
    indptr: npt.NDArray[np.int64], weights: npt.NDArray[np.float32], keep: StoredAs
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """(weights, scales) as `keep` says; the scale of a row is its largest size / 127."""
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


def add_one(postings: Postings, history: tuple[Any, Any, Any], sums: Scores) -> None:
    """sums (m,) += the weights of each item of one history, (indptr, items, values), in order."""
    _, items, values = history
    for at, item in enumerate(items):
        spoken_for, weights = postings.row(int(item), values[at] if len(values) else ONE)
        sums[spoken_for] += weights


@numpy_first(add_all)
def _add_all(postings: Postings, histories: tuple[Any, Any, Any], out: Scores) -> None:
    add_one(postings, histories, out[0])


class Neighbours(Representation):
    """score(u, j) = sum over the items i of u of weight[i, j], times the weight of i for u.

    postings: row i holds the items j with a weight; history: sparse (n, m). A query is a row of
    items (`Histories`, or a sparse matrix of one row).
    """

    kind = "neighbours"
    schema: ClassVar[Schema] = {
        "neighbour_indptr": Tensor("int64", ("items+1",), offsets_of="neighbour_items"),
        "neighbour_items": Tensor(("int32", "uint16"), ("neighbours",), rows_of="items"),
        "neighbour_weights": Tensor(("float32", "float16", "int8"), ("neighbours",)),
        "neighbour_scales": Tensor("float32", ("items",), optional=True),
        **HISTORY,
    }

    def __init__(
        self, postings: Postings, history: csr_array[np.float32], n_items: int | None = None
    ) -> None:
        """n_items: how many can be recommended, where postings have more rows."""
        self.postings, self.history = postings, history
        self.n_users = int(history.shape[0])
        self.n_items = postings.n_items if n_items is None else n_items

    @classmethod
    def of(
        cls,
        similarity: csr_array[np.float32],
        history: csr_array[np.float32],
        keep: StoredAs = "float32",
    ) -> Neighbours:
        """From a sparse matrix (m, m) whose row i holds the weights of item i for others."""
        return cls(Postings.of(similarity, keep), history)

    @property
    def similarity(self) -> csr_array[np.float32]:
        """The weights as a sparse matrix (m, m)."""
        return self.postings.matrix()

    @cached_property
    def _histories(self) -> Histories:
        return Histories.of(self.history)

    def queries(self, users: Rows) -> Histories:
        return self._histories[users]

    @cached_property
    def kernel_postings(self) -> Postings:
        """The postings as kernels take them."""
        return Postings(*(as_contiguous(array) for array in self.postings.for_kernels()))

    @cached_property
    def scratches(self) -> Scratches:
        """Arrays for sums, kept between searches."""
        return Scratches(self.n_items)

    def histories(self, queries: Any) -> Histories:
        """Queries as `Histories` of these items."""
        found = Histories.of(queries)
        if found.n_items != self.postings.n_items:
            count = self.postings.n_items
            raise DataError(f"a query has {found.n_items} items but there are {count}.")
        return found

    def score(self, queries: Any) -> Scores:
        found = self.histories(queries)
        scores = np.zeros((len(found), self.n_items), dtype=np.float32)
        _add_all(self.kernel_postings, (found.indptr, found.indices, found.data), scores)
        return scores

    def score_one(self, query: Histories) -> Scores:
        """The scores (n_items,) of one query in plain NumPy, to the bit those of `score`."""
        sums = np.zeros(self.n_items, dtype=np.float32)
        add_one(self.kernel_postings, (query.indptr, query.indices, query.data), sums)
        return sums

    def rescore(
        self,
        queries: Any,
        candidates: npt.NDArray[np.integer],
        counts: npt.NDArray[np.integer],
        pool: ThreadPool,
    ) -> Scores:
        """The scores (B, s) of the items candidates[b, :counts[b]] alone; zero behind them.

        To the bit those of `score`.
        """
        found = self.histories(queries)
        if candidates.shape[:1] != (len(found),) or counts.shape != (len(found),):
            raise DataError(f"candidates are of {len(candidates)} queries, not of {len(found)}.")
        scores = np.empty(candidates.shape, dtype=np.float32)
        histories = (found.indptr, found.indices, found.data)
        asked = (as_contiguous(candidates), as_contiguous(counts))

        def work(begin: int, end: int) -> None:
            with self.scratches.one() as scratch:
                part = (begin, end)
                score_candidates(self.kernel_postings, histories, *asked, scores, scratch, part)

        pool.map_ranges(len(found), work)
        return scores

    def among_items(self) -> Neighbours:
        """An item is the history of that item alone."""
        return Neighbours(self.postings, alone(self.n_items))

    def likeness(self, items: Rows, item: int) -> Scores:
        """The weights of `items` for `item`."""
        found = np.zeros(len(items), dtype=np.float32)
        for place, i in enumerate(items):
            spoken_for, weights = self.postings.row(int(i))
            found[place] = weights[spoken_for == item].sum()
        return found

    @property
    def score_description(self) -> str:
        return WEIGHTS_SCORE + by_weight(self.history)

    def tensors(self) -> Tensors:
        postings = self.postings
        scales = {"neighbour_scales": postings.scales} if len(postings.scales) else {}
        return {
            "neighbour_indptr": postings.indptr,
            "neighbour_items": postings.items,
            "neighbour_weights": postings.weights,
            **scales,
            **pack_history(self.history),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        indptr, items = tensors["neighbour_indptr"], tensors["neighbour_items"]
        weights = tensors["neighbour_weights"]
        scales = tensors.get("neighbour_scales", NO_SCALES)
        if (weights.dtype == np.int8) != (len(scales) > 0):
            raise DataError("weights of bytes have scales, and others have none")
        postings = Postings(indptr, items, weights, scales)
        return cls(postings, unpack_history(tensors, postings.n_items))
