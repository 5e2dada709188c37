"""Neighbours: each item's nearest items, and each user's own items, as sparse rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from xorec.representations.base import Representation, Rows, Scores, Tensors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Neighbours(Representation):
    """score(u, j) = sum over the items i of u of similarity[i, j].

    similarity: sparse (m, m), row i holds the neighbours of item i; history: sparse (n, m).
    A query is a sparse row of items.
    """

    kind = "neighbours"

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
        from scipy.sparse import eye_array

        return Neighbours(self.similarity, eye_array(self.n_items, format="csr", dtype=np.float32))

    def likeness(self, items: Rows, item: int) -> Scores:
        """What each of `items` adds to the score of `item`: they sum to it."""
        column: Scores = self.similarity[items][:, [item]].toarray()[:, 0]
        return column

    @property
    def score_description(self) -> str:
        return "the sum of the item's likeness to each of the user's items"

    def tensors(self) -> Tensors:
        return {
            "neighbour_indptr": self.similarity.indptr.astype(np.int64),
            "neighbour_items": self.similarity.indices.astype(np.int32),
            "neighbour_weights": self.similarity.data,
            "history_indptr": self.history.indptr.astype(np.int64),
            "history_items": self.history.indices.astype(np.int32),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        from scipy.sparse import csr_array

        items = len(tensors["neighbour_indptr"]) - 1
        similarity = csr_array(
            (
                tensors["neighbour_weights"],
                tensors["neighbour_items"],
                tensors["neighbour_indptr"],
            ),
            shape=(items, items),
        )
        history = csr_array(
            (
                np.ones(len(tensors["history_items"]), dtype=np.float32),
                tensors["history_items"],
                tensors["history_indptr"],
            ),
            shape=(len(tensors["history_indptr"]) - 1, items),
        )
        return cls(similarity, history)
