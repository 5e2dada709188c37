"""Vectors and Distances: users and items as float rows, ranked by dot product or by nearness."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from xorec.core.arrays import float_rows
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Floats as Floats
from xorec.representations.base import Representation, Rows, Scores


class _FloatRows(Representation):
    """Base of Vectors and Distances: a float row for each user and item."""

    schema: ClassVar[Schema] = {
        "user_vectors": Tensor("float32", ("users", "dimensions")),
        "item_vectors": Tensor("float32", ("items", "dimensions")),
    }

    def __init__(self, user_vectors: Floats, item_vectors: Floats) -> None:
        self.user_vectors = float_rows(user_vectors, "user_vectors")
        self.item_vectors = float_rows(item_vectors, "item_vectors")
        self.n_users, self.n_items = len(self.user_vectors), len(self.item_vectors)
        lengths = self.user_vectors.shape[1], self.item_vectors.shape[1]
        if lengths[0] != lengths[1]:
            raise DataError(
                f"the users' vectors have {lengths[0]} numbers but the items' {lengths[1]}."
            )

    def queries(self, users: Rows) -> Floats:
        return self.user_vectors[users]


class Vectors(_FloatRows):
    """score(u, i) = user_vectors[u] . item_vectors[i] (+ item_bias[i] where there is one).

    >>> one = Vectors(np.float32([[1, 2]]), np.float32([[3, 0], [0, 5]]))
    >>> one.scores(np.array([0]))
    array([[ 3., 10.]], dtype=float32)
    """

    kind = "vectors"
    schema: ClassVar[Schema] = {
        **_FloatRows.schema,
        "item_bias": Tensor("float32", ("items",), optional=True),
    }

    def __init__(
        self, user_vectors: Floats, item_vectors: Floats, item_bias: Floats | None = None
    ) -> None:
        super().__init__(user_vectors, item_vectors)
        self.item_bias = None if item_bias is None else float_rows(item_bias, "item_bias", 1)
        if self.item_bias is not None and len(self.item_bias) != len(self.item_vectors):
            raise DataError(
                f"there are {len(self.item_bias)} biases for {len(self.item_vectors)} items."
            )

    def score(self, queries: Any) -> Scores:
        scores: Scores = np.matmul(np.atleast_2d(queries), self.item_vectors.T, dtype=np.float32)
        if self.item_bias is not None:
            scores += self.item_bias
        return scores

    def among_items(self) -> Vectors:
        """Cosines; an item with a zero vector is like nothing."""
        return Vectors(*2 * (_unit(self.item_vectors),))

    def among_users(self) -> Vectors:
        """Cosines; a user with a zero vector is like no other."""
        return Vectors(*2 * (_unit(self.user_vectors),))

    @property
    def score_description(self) -> str:
        bias = "" if self.item_bias is None else ", and the item's own bias"
        return f"the dot product of the user's and the item's vector{bias}"


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1)
    return np.asarray(vectors / np.where(norms > 0, norms, 1)[:, None], dtype=np.float32)


class Distances(_FloatRows):
    """score(u, i) = -|user_vectors[u] - item_vectors[i]|^2: never above 0.

    Computed as 2 b.d - |b|^2 - |d|^2, one product and the norms. The mean item is subtracted from
    both points first, so that no digits are lost to points far from the origin.

    >>> one = Distances(np.float32([[1, 0]]), np.float32([[1, 2], [4, 0]]))
    >>> one.scores(np.array([0]))
    array([[-4., -9.]], dtype=float32)
    """

    kind = "distances"

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
        """Items near each other are similar."""
        return Distances(self.item_vectors, self.item_vectors)

    def among_users(self) -> Distances:
        """Users near each other are similar."""
        return Distances(self.user_vectors, self.user_vectors)

    score_description = "minus the squared distance between the user's and the item's vector"


def _squared_norms(rows: Floats) -> Floats:
    squares = np.einsum("nf,nf->n", rows, rows, dtype=np.float64)
    return np.asarray(squares, dtype=np.float32)
