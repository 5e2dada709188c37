"""What CML and SML share: points in the unit ball that move by triplets, ranked by distance.

Steps go over blocks of pairs (`training.passes`), users first, then items. Each row's steps shrink
with the gradients it has had (Adagrad, one number a row, as in SIML), and each row that moved is
brought back into the ball.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.data.interactions import Interactions
from xorec.models.base import expect
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.representations.distances import Distances, Floats
from xorec.training.checkpoint import Arrays
from xorec.training.config import TripletConfig
from xorec.training.passes import TripletStep
from xorec.training.row_kernels import BALL, project_rows


class MetricConfig(TripletConfig):
    """Settings of every model of points in a ball."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(1.0, gt=0, le=10, description="length of a row's first step")


class BallStep(TripletStep):
    """A step whose items end in the ball, whether they have moved or not."""

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        project_rows(new.vectors, BALL)
        return new


M = TypeVar("M", bound=MetricConfig)


class MetricModel(TripletModel[M]):
    """Users and items as points; a model says what its step over a block is."""

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Normal vectors of about unit length, users then items, inside the ball."""
        rng = np.random.Generator(np.random.Philox(seed))
        counts, size = (train.n_users, train.n_items), self.config.dimensions
        rows = [rng.standard_normal((n, size), dtype=np.float32) for n in counts]
        users, items = (into_ball(r / np.float32(np.sqrt(size))) for r in rows)
        return {
            "user_vectors": users,
            "item_vectors": items,
            "user_grad_sq_sum": np.zeros(train.n_users, dtype=np.float32),
            "item_grad_sq_sum": np.zeros(train.n_items, dtype=np.float32),
        }

    def _represent(self, arrays: Arrays) -> Distances:
        return Distances(arrays["user_vectors"], arrays["item_vectors"])

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's point: the users' step alone, from the middle of their items, averaged
        over the last passes."""
        representation = expect(representation, Distances)
        return self._fold_in(history, self._fixed(representation.item_vectors))

    @abstractmethod
    def _fixed(self, item_vectors: Floats) -> Any:
        """The table of items that do not move."""


def into_ball(rows: npt.NDArray[np.floating]) -> Floats:
    """Rows of more than unit length are brought back to it."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1), dtype=np.float32)
