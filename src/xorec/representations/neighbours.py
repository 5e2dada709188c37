"""Neighbours: each item's nearest items, and each user's own items, as sparse rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Representation, Rows, Scores, Tensors
from xorec.representations.histories import (
    HISTORY,
    alone,
    by_weight,
    pack_history,
    unpack_history,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Neighbours(Representation):
    """score(u, j) = sum over the items i of u of similarity[i, j], times what i counts for u.

    similarity: sparse (m, m), row i holds the neighbours of item i; history: sparse (n, m).
    A query is a sparse row of items.
    """

    kind = "neighbours"
    schema: ClassVar[Schema] = {
        "neighbour_indptr": Tensor("int64", ("items+1",), offsets_of="neighbour_items"),
        "neighbour_items": Tensor("int32", ("neighbours",), rows_of="items"),
        "neighbour_weights": Tensor("float32", ("neighbours",)),
        **HISTORY,
    }

    def __init__(self, similarity: csr_array[np.float32], history: csr_array[np.float32]) -> None:
        self.similarity, self.history = similarity, history

    @property
    def n_users(self) -> int:
        return int(self.history.shape[0])

    @property
    def n_items(self) -> int:
        return int(self.similarity.shape[0])

    def queries(self, users: Rows) -> csr_array[np.float32]:
        return self.history[users]

    def score(self, queries: Any) -> Scores:
        scores: Scores = (queries @ self.similarity).toarray()
        return scores

    def among_items(self) -> Neighbours:
        """An item as somebody who has that item alone."""
        return Neighbours(self.similarity, alone(self.n_items))

    def likeness(self, items: Rows, item: int) -> Scores:
        """What each of `items` adds to the score of `item` where it counts 1."""
        column: Scores = self.similarity[items][:, [item]].toarray()[:, 0]
        return column

    @property
    def score_description(self) -> str:
        return (
            f"the sum of the item's likeness to each of the user's items{by_weight(self.history)}"
        )

    def tensors(self) -> Tensors:
        return {
            "neighbour_indptr": self.similarity.indptr.astype(np.int64),
            "neighbour_items": self.similarity.indices.astype(np.int32),
            "neighbour_weights": self.similarity.data,
            **pack_history(self.history),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        from scipy.sparse import csr_array

        weights, items, indptr = (
            tensors[f"neighbour_{name}"] for name in ("weights", "items", "indptr")
        )
        n_items = len(indptr) - 1
        similarity = csr_array((weights, items, indptr), shape=(n_items, n_items))
        return cls(similarity, unpack_history(tensors, n_items))
