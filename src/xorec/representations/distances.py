"""Distances: users and items as points, ranked by how near they are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from xorec.representations.base import Representation, Rows, Scores, Tensors

Floats = npt.NDArray[np.float32]


class Distances(Representation):
    """score(u, i) = -|user_vectors[u] - item_vectors[i]|^2: never above 0.

    All at once it is 2 b.d - |b|^2 - |d|^2, one product and the norms. That subtracts what both
    points share, so both are first seen from the middle of the items: no digits are lost to a
    place far from the origin, and what rounding is left is small beside the items' spread.
    """

    kind = "distances"

    def __init__(self, user_vectors: Floats, item_vectors: Floats) -> None:
        self.user_vectors = user_vectors
        self.item_vectors = item_vectors

    @property
    def n_users(self) -> int:
        return len(self.user_vectors)

    @property
    def n_items(self) -> int:
        return len(self.item_vectors)

    def queries(self, users: Rows) -> Floats:
        return self.user_vectors[users]

    @cached_property
    def _seen_from_middle(self) -> tuple[Floats, Floats, Floats]:
        """The middle of the items (d,), the items from there (n_items, d), their squared norms."""
        middle = self.item_vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
        items = np.asarray(self.item_vectors - middle, dtype=np.float32)
        return middle, items, _squares(items)

    def score(self, queries: Any) -> Scores:
        middle, items, squares = self._seen_from_middle
        points = np.asarray(np.atleast_2d(queries) - middle, dtype=np.float32)
        scores: Scores = np.matmul(np.float32(2) * points, items.T)
        scores -= squares
        scores -= _squares(points)[:, None]
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


def _squares(rows: Floats) -> Floats:
    squares = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return np.asarray(squares, dtype=np.float32)
