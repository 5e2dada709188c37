"""What CML and SML share: points in the unit ball that move by triplets, ranked by distance.

Steps go over blocks of pairs (`training.passes`), users first, then items. Each row's steps shrink
with the gradients it has had (Adagrad, one number a row, as in SIML), and each row that moved is
brought back into the ball.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.models.siml.siml_kernels import show_items
from xorec.models.siml.siml_steps import Rows
from xorec.representations.base import Representation
from xorec.representations.distances import Distances, Floats
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Pass, Triplets
from xorec.training.row_kernels import BALL

_FOLD_IN_PASSES = 20


class MetricConfig(EpochConfig):
    """Settings of every model of points in a ball."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(1.0, gt=0, le=10, description="length of a row's first step")
    negatives: int = Field(20, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    block_size: int = Field(32_768, ge=1, description="pairs between two looks at each other")


class BallSteps:
    """The steps over one block (see `training.passes.Steps`); a model adds its own two.

    touched (P, T): the items of each pair, besides the positive, that the items' step moves.
    losses (P,): the loss of each pair as it was met.
    """

    touched: npt.NDArray[np.int32]

    def __init__(self, triplets: Triplets, users: Rows, items: Rows, block: int) -> None:
        self.triplets, self.users, self.items, self.block = triplets, users, items, block
        self.losses = np.empty(len(triplets.users), dtype=np.float32)

    @abstractmethod
    def learn_users(self, own: slice) -> None: ...

    @abstractmethod
    def learn_items(self, part: int, parts: int) -> None: ...

    def finish(self, part: int, parts: int) -> None:
        items, moved = self.items, (self.triplets.positives, self.touched)
        stamp = (items.stamps, self.block, part, parts)
        drawn = (np.float32(0), np.float32(1), 0, 0)  # of codes: there are none
        show_items(items.own, items.shown, *moved, BALL, *drawn, *stamp)

    def loss(self) -> float:
        return float(self.losses.sum(dtype=np.float64))


M = TypeVar("M", bound=MetricConfig)


class MetricModel(Model[M]):
    """Users and items as points; a model says what its steps over a block are."""

    @abstractmethod
    def _steps(
        self, triplets: Triplets, users: Rows, items: Rows, arrays: Arrays, block: int
    ) -> BallSteps:
        """The steps over a block; arrays: what `_more` made, as learned so far."""

    def _more(self, n_users: int, n_items: int) -> Arrays:
        """What is learned besides the rows, as it starts."""
        return {}

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        """What happens to all rows at the end of an epoch."""

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        size = (self.config.negatives, self.config.block_size, options.seed)
        with options.thread_pool() as pool:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                users = Rows.of(arrays["user_vectors"], arrays["user_spent"])
                rows = (arrays["item_vectors"], arrays["item_spent"])
                items, blocks = Rows.of(*rows, items=True), count()
                run = Pass(train, sampler, *size, epoch, pool)
                loss = run.run(lambda t: self._steps(t, users, items, arrays, next(blocks)))
                self._after_epoch(train, arrays)
                return {"loss": loss}

            state = trainer.run(self._start(train, options.seed), step, _distances)
        return _distances(state.arrays)

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Normal vectors of about unit length, users then items, inside the ball."""
        rng = np.random.Generator(np.random.Philox(seed))
        counts, size = (train.n_users, train.n_items), self.config.dimensions
        rows = [rng.standard_normal((n, size), dtype=np.float32) for n in counts]
        users, items = (into_ball(r / np.float32(np.sqrt(size))) for r in rows)
        return {
            "user_vectors": users,
            "item_vectors": items,
            "user_spent": np.zeros(train.n_users, dtype=np.float32),
            "item_spent": np.zeros(train.n_items, dtype=np.float32),
            **self._more(*counts),
        }

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's point: the users' step alone, from the middle of their items, averaged
        over the last passes."""
        assert isinstance(representation, Distances)
        items = np.ascontiguousarray(representation.item_vectors)
        positives = np.unique(history).astype(np.int32)
        pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
        sampler = Negatives(positives, np.array([0, len(positives)]), representation.n_items)
        user = items[positives].mean(axis=0, keepdims=True)
        negatives = np.empty((len(positives), self.config.negatives), dtype=np.int32)
        triplets, total = Triplets(owner, positives, negatives), np.zeros_like(user)
        rows = Rows.of(user, np.zeros(1, dtype=np.float32))
        fixed = Rows(items, items, np.zeros(0, np.float32), np.zeros(0, np.int64))
        arrays = self._more(1, len(items))
        for epoch in range(2 * _FOLD_IN_PASSES):
            sampler.draw(negatives, pairs, owner, 0, epoch)
            self._steps(triplets, rows, fixed, arrays, epoch).learn_users(slice(None))
            if epoch >= _FOLD_IN_PASSES:
                total += user
        return total / np.float32(_FOLD_IN_PASSES)


def into_ball(rows: npt.NDArray[np.floating]) -> Floats:
    """Rows of more than unit length are brought back to it."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1), dtype=np.float32)


def _distances(arrays: Arrays) -> Distances:
    return Distances(arrays["user_vectors"], arrays["item_vectors"])
