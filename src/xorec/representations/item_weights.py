"""ItemWeights: a dense matrix of weights between items, and each user's history."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel, numpy_first
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Representation, Rows, Scores, Tensors
from xorec.representations.histories import (
    HISTORY,
    WEIGHTS_SCORE,
    alone,
    by_weight,
    is_weighted,
    pack_history,
    unpack_history,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_COLUMNS = 4096  # columns at a time: their sums stay in the cache


@kernel
def sum_rows(indptr: Any, indices: Any, row_of: Any, weights: Any, sums: Any) -> None:
    """sums[q] (zeros at first) += weights[row_of[i]] for the items i of query q.

    row_of (n_items,): -1 for an item that has no row. indptr, indices: the items of the queries.
    Always in the order of the items, four rows at a time.
    """
    m, rows = weights.shape[1], np.empty(len(row_of), dtype=np.int64)
    for q in range(len(indptr) - 1):
        count = 0
        for at in range(indptr[q], indptr[q + 1]):
            if row_of[indices[at]] >= 0:
                rows[count] = row_of[indices[at]]
                count += 1
        fours = count // 4 * 4
        for first in range(0, m, _COLUMNS):
            last = min(first + _COLUMNS, m)
            total = sums[q, first:last]
            for at in range(0, fours, 4):
                w0 = weights[rows[at], first:last]
                w1 = weights[rows[at + 1], first:last]
                w2 = weights[rows[at + 2], first:last]
                w3 = weights[rows[at + 3], first:last]
                for c in range(len(total)):
                    total[c] = total[c] + w0[c] + w1[c] + w2[c] + w3[c]
            for at in range(fours, count):
                w0 = weights[rows[at], first:last]
                for c in range(len(total)):
                    total[c] += w0[c]


@numpy_first(sum_rows)
def _sum_rows(indptr: Any, indices: Any, row_of: Any, weights: Any, sums: Scores) -> None:
    rows = row_of[indices]
    for row in rows[rows >= 0]:
        sums[0] += weights[row]


class ItemWeights(Representation):
    """score(u, j) = sum over the items i of u of weights[i, j], times the weight of i for u.

    weights: float32 (k, k), between the k items at the rows `items`; other items have weights of 0.
    history: sparse (n, m). A query is a sparse row of items.
    """

    kind = "item-weights"
    schema: ClassVar[Schema] = {
        "sizes": Tensor("int64", (2,), least=0),
        "weights": Tensor("float32", ("weighed", "weighed")),
        "weight_items": Tensor("int32", ("weighed",), rows_of="items"),
        **HISTORY,
    }

    def __init__(
        self,
        weights: npt.NDArray[np.float32],
        items: npt.NDArray[np.int32],
        history: csr_array[np.float32],
        speaking: npt.NDArray[np.int32] | None = None,
        n_items: int | None = None,
    ) -> None:
        """speaking: the items of the rows of `weights`, where `items` are those of the columns
        alone; n_items: how many can be recommended, where histories have more."""
        self.weights, self.items, self.history = weights, items, history
        self._speaking = items if speaking is None else speaking
        self.n_users = int(history.shape[0])
        self.n_items = int(history.shape[1]) if n_items is None else n_items

    @cached_property
    def _row_of(self) -> npt.NDArray[np.int32]:
        """The row of each item in `weights`; -1 where it has none."""
        row_of = np.full(self.history.shape[1], -1, dtype=np.int32)
        row_of[self._speaking] = np.arange(len(self._speaking), dtype=np.int32)
        return row_of

    def queries(self, users: Rows) -> csr_array[np.float32]:
        return self.history[users]

    def score(self, queries: Any) -> Scores:
        sums = self._sums(queries)
        if len(self.items) == self.n_items:
            return sums
        scores = np.zeros((queries.shape[0], self.n_items), dtype=np.float32)
        scores[:, self.items] = sums
        return scores

    def _sums(self, queries: Any) -> Scores:
        """The scores of `items` alone."""
        if is_weighted(queries):
            whole = len(self._speaking) == queries.shape[1]
            weighed = queries if whole else queries[:, self._speaking]
            products: Scores = weighed @ self.weights
            return products
        sums = np.zeros((queries.shape[0], len(self.items)), dtype=np.float32)
        indptr, indices = queries.indptr.astype(np.int64), queries.indices.astype(np.int32)
        _sum_rows(indptr, indices, self._row_of, self.weights, sums)
        return sums

    def among_items(self) -> ItemWeights:
        """An item is the history of that item alone."""
        return ItemWeights(self.weights, self.items, alone(self.n_items))

    def likeness(self, items: Rows, item: int) -> Scores:
        """The weights of `items` for `item`."""
        rows, column = self._row_of[items], self._row_of[item]
        if column < 0:
            return np.zeros(len(rows), dtype=np.float32)
        found: Scores = np.where(rows >= 0, self.weights[rows, column], np.float32(0))
        return found

    @property
    def score_description(self) -> str:
        return WEIGHTS_SCORE + by_weight(self.history)

    def tensors(self) -> Tensors:
        return {
            "weights": self.weights,
            "weight_items": self.items,
            **pack_history(self.history),
            "sizes": np.array(self.history.shape, dtype=np.int64),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        history = unpack_history(tensors, int(tensors["sizes"][1]))
        return cls(tensors["weights"], tensors["weight_items"], history)
