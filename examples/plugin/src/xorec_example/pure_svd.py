"""PureSVD (Cremonesi et al. 2010): the leading singular vectors of the matrix of pairs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import Model, expect
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.config import Int, ModelConfig, Space


class PureSVDConfig(ModelConfig):
    """Settings of PureSVD."""

    dimensions: int = Field(16, ge=1, le=4096, description="number of singular vectors")


class PureSVD(Model[PureSVDConfig]):
    """score(u, i) = (X V V')_ui, X the matrix of pairs, V its leading right singular vectors.

    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> PureSVD(dimensions=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "pure-svd"
    Config = PureSVDConfig
    space: ClassVar[Space] = {"dimensions": Int(8, 256, log=True)}
    learns_vectors = True

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        X = train.matrix().astype(np.float64)
        squares, V = np.linalg.eigh((X.T @ X).toarray())  # squares of singular values, ascending
        first = max(len(V) - self.config.dimensions, np.searchsorted(squares, 1e-9 * squares[-1]))
        items = np.ascontiguousarray(V[:, first:], dtype=np.float32)
        return Vectors(np.asarray(X @ items, dtype=np.float32), items)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's row of X V: the sum of the items' vectors."""
        representation = expect(representation, Vectors)
        return representation.item_vectors[np.unique(history)].sum(axis=0, keepdims=True)
