"""Popularity: everybody gets what most people have. The floor that every model must clear."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, Part, expect
from xorec.representations.base import Representation
from xorec.representations.shared_scores import SharedScores
from xorec.training.config import ModelConfig


class PopularityConfig(ModelConfig):
    """Popularity has no settings."""


class Popularity(Model[PopularityConfig]):
    """score(u, i) = the number of training pairs of item i, or the sum of their weights.

    >>> import xorec
    >>> data = xorec.Interactions.from_pairs([("ann", "tea"), ("bob", "tea"), ("bob", "rye")])
    >>> xorec.Popularity().fit(data).representation_.scores([0])
    array([[1., 2.]], dtype=float32)
    """

    name = "popularity"
    runs_on_engine = True
    Config = PopularityConfig
    cost = 0.05
    weighting = "an item's score is the sum of its pairs' weights"

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        counts = np.bincount(train.indices, train.weights, train.n_items)
        return SharedScores(counts.astype(np.float32), train.n_users)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user is like any other."""
        expect(representation, SharedScores)
        return np.zeros(1, dtype=np.int64)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """Exact. New pairs have a weight of 1."""
        before, counts = expect(representation, SharedScores), update.train.item_counts
        known = counts if update.known_items is None else update.known_items
        scores = (counts - known).astype(np.float32)
        scores[: before.n_items] += before.item_scores
        return SharedScores(scores, update.train.n_users)
