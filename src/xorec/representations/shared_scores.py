"""SharedScores: one score for each item, the same for every user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.schema import Schema, Tensor
from xorec.representations.base import Representation, Rows, Scores, Tensors


class SharedScores(Representation):
    """score(u, i) = item_scores[i], whatever the query."""

    kind = "shared-scores"
    score_description = "the item's popularity, the same for every user"
    schema: ClassVar[Schema] = {
        "item_scores": Tensor("float32", ("items",)),
        "n_users": Tensor("int64", (1,), least=0),
    }
    compares_items = False

    def __init__(self, item_scores: npt.NDArray[np.float32], n_users: int) -> None:
        self.item_scores, self.n_users, self.n_items = item_scores, n_users, len(item_scores)

    def queries(self, users: Rows) -> Rows:
        return users

    def score(self, queries: Any) -> Scores:
        return np.repeat(self.item_scores[None], len(queries), axis=0)

    def among_items(self) -> Representation:
        raise OptionError(
            "this model gives every user the same scores, so it knows no similar items: "
            "take one that learns from pairs, for example item-knn."
        )

    def tensors(self) -> Tensors:
        return {"item_scores": self.item_scores, "n_users": np.array([self.n_users])}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        return cls(tensors["item_scores"], int(tensors["n_users"][0]))
