"""BPR-MF (Rendle et al. 2009): a dot product that ranks what a user has before what they lack.

minimise  sum over (u, i, j) of  softplus(-x) + reg/2 (|b_u|^2 + |d_i|^2 + |d_j|^2),
x = b_u.(d_i - d_j), by stochastic gradient steps over blocks of pairs (`training.blocks`),
`negatives` fresh negatives j for each positive pair (u, i) in each epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Pass, Triplets
from xorec.training.space import POPULARITY, Float, Int, Space

_FOLD_IN_PASSES = 20


class BPRConfig(EpochConfig):
    """Settings of BPR."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(0.1, gt=0, le=10, description="size of the first epoch's steps")
    decay: float = Field(0.1, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(0.01, ge=0, description="weight of the squared norms, per triplet")
    negatives: int = Field(8, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    init_scale: float = Field(0.1, gt=0, description="standard deviation of the first vectors")
    block_size: int = Field(32_768, ge=1, description="pairs between two looks at each other")

    def rate(self, epoch: int) -> np.float32:
        """The step size of an epoch."""
        return np.float32(self.learning_rate / (1 + self.decay * epoch))


class BPR(Model[BPRConfig]):
    """Matrix factorisation with the pairwise logistic loss."""

    name = "bpr"
    Config = BPRConfig
    space: ClassVar[Space] = {
        "learning_rate": Float(0.03, 0.15, log=True),
        "reg": Float(0.002, 0.04, log=True),
        "negatives": Int(4, 16, log=True),
        "alpha": POPULARITY,
    }
    learns_vectors = True

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        size = (self.config.negatives, self.config.block_size, options.seed)
        with options.thread_pool() as pool:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                users, items = arrays["user_vectors"], arrays["item_vectors"]
                run = Pass(train, sampler, *size, epoch, pool)
                return {"loss": run.run(lambda t: _Steps.of(t, users, items, self.config, epoch))}

            state = trainer.run(self._start(train, options.seed), step, _vectors)
        return _vectors(state.arrays)

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Small normal vectors, users then items, from NumPy's own counter-based Philox."""
        rng = np.random.Generator(np.random.Philox(seed))
        size, scale = self.config.dimensions, np.float32(self.config.init_scale)
        return {
            "user_vectors": scale * rng.standard_normal((train.n_users, size), dtype=np.float32),
            "item_vectors": scale * rng.standard_normal((train.n_items, size), dtype=np.float32),
        }

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the users' step alone, averaged over the last passes."""
        assert isinstance(representation, Vectors)
        return folded(representation.item_vectors, history, self.config)


def folded(item_vectors: Floats, history: npt.NDArray[np.integer], config: BPRConfig) -> Floats:
    """The vector (1, d) of somebody who has the items `history`, items fixed.

    The users' step alone, fresh negatives in each pass, averaged over the last passes.
    """
    items = np.ascontiguousarray(item_vectors)
    positives = np.unique(history).astype(np.int32)
    pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
    sampler = Negatives(positives, np.array([0, len(positives)]), len(items))
    user = np.zeros((1, items.shape[1]), dtype=np.float32)
    negatives = np.empty((len(positives), config.negatives), dtype=np.int32)
    triplets, total = Triplets(owner, positives, negatives), np.zeros_like(user)
    for epoch in range(2 * _FOLD_IN_PASSES):
        sampler.draw(negatives, pairs, owner, 0, epoch)
        _Steps.of(triplets, user, items, config, epoch).learn_users(slice(None))
        if epoch >= _FOLD_IN_PASSES:
            total += user
    return np.asarray(total / np.float32(_FOLD_IN_PASSES))


@dataclass(frozen=True, eq=False)
class _Steps:
    """BPR's steps over one block; names as in `bpr_kernels`."""

    triplets: Triplets
    users: Floats
    items: Floats
    rate: np.float32
    reg: np.float32
    pull: Floats
    losses: Floats

    @classmethod
    def of(
        cls, triplets: Triplets, users: Floats, items: Floats, config: BPRConfig, epoch: int
    ) -> _Steps:
        pull = np.empty(triplets.negatives.shape, dtype=np.float32)
        losses = np.empty(len(triplets.users), dtype=np.float32)
        steps = (config.rate(epoch), np.float32(config.reg))
        return cls(triplets, users, items, *steps, pull, losses)

    def learn_users(self, own: slice) -> None:
        from xorec.models.factorization.bpr_kernels import step_users

        t, steps = self.triplets, (self.rate, self.reg)
        rows = (t.users[own], t.positives[own], t.negatives[own], self.pull[own])
        step_users(self.users, self.items, *rows, *steps, self.losses[own])

    def learn_items(self, part: int, parts: int) -> None:
        from xorec.models.factorization.bpr_kernels import step_items

        t = self.triplets
        rows = (t.users, t.positives, t.negatives, self.pull)
        step_items(self.users, self.items, *rows, self.rate, self.reg, part, parts)

    def finish(self, part: int, parts: int) -> None:
        """Nothing is left to do."""

    def loss(self) -> float:
        return float(self.losses.sum(dtype=np.float64))


def _vectors(arrays: Arrays) -> Vectors:
    return Vectors(arrays["user_vectors"], arrays["item_vectors"])
