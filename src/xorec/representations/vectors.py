"""Vectors: users and items as float rows, ranked by dot product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import float_rows
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Floats as Floats
from xorec.representations.base import Representation, Rows, Scores, Tensors


class Vectors(Representation):
    """score(u, i) = user_vectors[u] . item_vectors[i] (+ item_bias[i] where there is one).

    >>> one = Vectors(np.float32([[1, 2]]), np.float32([[3, 0], [0, 5]]))
    >>> one.scores(np.array([0]))
    array([[ 3., 10.]], dtype=float32)
    """

    kind = "vectors"
    why_one_index = (
        "a sum of products depends in its last digit on how many items BLAS multiplies at once, "
        "so the lists would not be those of one index"
    )
    schema: ClassVar[Schema] = {
        "user_vectors": Tensor("float32", ("users", "dimensions")),
        "item_vectors": Tensor("float32", ("items", "dimensions")),
        "item_bias": Tensor("float32", ("items",), optional=True),
    }

    def __init__(
        self, user_vectors: Floats, item_vectors: Floats, item_bias: Floats | None = None
    ) -> None:
        self.user_vectors, self.item_vectors = check_vectors(user_vectors, item_vectors)
        self.item_bias = None if item_bias is None else float_rows(item_bias, "item_bias", 1)
        if self.item_bias is not None and len(self.item_bias) != len(self.item_vectors):
            raise DataError(
                f"there are {len(self.item_bias)} biases for {len(self.item_vectors)} items."
            )

    @property
    def n_users(self) -> int:
        return len(self.user_vectors)

    @property
    def n_items(self) -> int:
        return len(self.item_vectors)

    def queries(self, users: Rows) -> Floats:
        return self.user_vectors[users]

    def score(self, queries: Any) -> Scores:
        scores: Scores = np.matmul(np.atleast_2d(queries), self.item_vectors.T, dtype=np.float32)
        if self.item_bias is not None:
            scores += self.item_bias
        return scores

    def among_items(self) -> Vectors:
        """Cosines; an item with a zero vector is like nothing."""
        return Vectors(*2 * (_unit(self.item_vectors),))

    def among_users(self) -> Vectors:
        """Cosines; a user with a zero vector is like nobody."""
        return Vectors(*2 * (_unit(self.user_vectors),))

    @property
    def score_description(self) -> str:
        bias = "" if self.item_bias is None else ", and the item's own bias"
        return f"the dot product of the user's and the item's vector{bias}"

    def tensors(self) -> Tensors:
        tensors: Tensors = {"user_vectors": self.user_vectors, "item_vectors": self.item_vectors}
        if self.item_bias is not None:
            tensors["item_bias"] = self.item_bias
        return tensors

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        return cls(tensors["user_vectors"], tensors["item_vectors"], tensors.get("item_bias"))


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1)
    return np.asarray(vectors / np.where(norms > 0, norms, 1)[:, None], dtype=np.float32)


def check_vectors(users: Any, items: Any) -> tuple[Floats, Floats]:
    """Vectors of users (n, d) and items (m, d), or a DataError."""
    rows = float_rows(users, "user_vectors"), float_rows(items, "item_vectors")
    if rows[0].shape[1] != rows[1].shape[1]:
        raise DataError(
            f"the users' vectors have {rows[0].shape[1]} numbers but the items' {rows[1].shape[1]}."
        )
    return rows
