"""Distances: users and items as points, ranked by how near they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Floats as Floats
from xorec.representations.base import Representation, Rows, Scores, Tensors
from xorec.representations.vectors import check_vectors


class Distances(Representation):
    """score(u, i) = -|user_vectors[u] - item_vectors[i]|^2: never above 0.

    All at once it is 2 b.d - |b|^2 - |d|^2, one product and the norms. That cancels what both
    points share, so the mean item is subtracted from both first: no digits are lost to points far
    from the origin, and what rounding is left is small against the items' spread.

    >>> one = Distances(np.float32([[1, 0]]), np.float32([[1, 2], [4, 0]]))
    >>> one.scores(np.array([0]))
    array([[-4., -9.]], dtype=float32)
    """

    kind = "distances"
    why_one_index = (
        "a sum of products depends in its last digit on how many items BLAS multiplies at once, "
        "so the lists would not be those of one index"
    )
    schema: ClassVar[Schema] = {
        "user_vectors": Tensor("float32", ("users", "dimensions")),
        "item_vectors": Tensor("float32", ("items", "dimensions")),
    }

    def __init__(self, user_vectors: Floats, item_vectors: Floats) -> None:
        self.user_vectors, self.item_vectors = check_vectors(user_vectors, item_vectors)

    @property
    def n_users(self) -> int:
        return len(self.user_vectors)

    @property
    def n_items(self) -> int:
        return len(self.item_vectors)

    def queries(self, users: Rows) -> Floats:
        return self.user_vectors[users]

    @cached_property
    def _centred(self) -> tuple[Floats, Floats, Floats]:
        """The mean item (d,), the items minus it (n_items, d), their squared norms (n_items,)."""
        mean = self.item_vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        items = np.asarray(self.item_vectors - mean, dtype=np.float32)
        return mean, items, _squared_norms(items)

    def score(self, queries: Any) -> Scores:
        mean, items, squared_norms = self._centred
        points = np.asarray(np.atleast_2d(queries) - mean, dtype=np.float32)
        scores: Scores = np.matmul(np.float32(2) * points, items.T)
        scores -= squared_norms
        scores -= _squared_norms(points)[:, None]
        return np.minimum(scores, np.float32(0), out=scores)

    def among_items(self) -> Distances:
        """Items near each other are alike."""
        return Distances(self.item_vectors, self.item_vectors)

    def among_users(self) -> Distances:
        """Users near each other are alike."""
        return Distances(self.user_vectors, self.user_vectors)

    @property
    def score_description(self) -> str:
        return "minus the squared distance between the user's and the item's vector"

    def tensors(self) -> Tensors:
        return {"user_vectors": self.user_vectors, "item_vectors": self.item_vectors}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        return cls(tensors["user_vectors"], tensors["item_vectors"])


def _squared_norms(rows: Floats) -> Floats:
    squares = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return np.asarray(squares, dtype=np.float32)
