"""BPR-MF (Rendle et al. 2009): a dot product that ranks what a user has before what they lack.

minimise  sum over (u, i, j) of  softplus(-x) + reg/2 (|b_u|^2 + |d_i|^2 + |d_j|^2),
x = b_u.(d_i - d_j), by stochastic gradient steps over blocks of pairs (`optim.blocks`), `negatives`
fresh negatives j for each positive pair (u, i) in each epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.optim.blocks import Block, blocks_of, item_parts
from xorec.optim.checkpoint import Arrays
from xorec.optim.epochs import EpochConfig, EpochTrainer
from xorec.options import RunOptions
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.threads import Team

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

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        with options.team() as team:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                vectors = (arrays["user_vectors"], arrays["item_vectors"])
                run = _Epoch(train, sampler, self.config, options.seed, epoch, team, *vectors)
                return {"loss": run.loss()}

            state = trainer.run(self._start(train, options.seed), step, _vectors)
        self.history_ = state.history
        self.epochs_ = state.best_epoch or state.epoch
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
        from xorec.models.bpr_kernels import step_users

        items = np.ascontiguousarray(representation.item_vectors)
        positives = np.unique(history).astype(np.int32)
        pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
        indptr = np.array([0, len(positives)])
        sampler = Negatives(positives, indptr, representation.n_items)
        user = np.zeros((1, items.shape[1]), dtype=np.float32)
        negatives = np.empty((len(positives), self.config.negatives), dtype=np.int32)
        pull = np.empty(negatives.shape, dtype=np.float32)
        losses = np.empty(len(positives), dtype=np.float32)
        reg, total = np.float32(self.config.reg), np.zeros_like(user)
        for epoch in range(2 * _FOLD_IN_PASSES):
            sampler.draw(negatives, pairs, owner, 0, epoch)
            rate = self.config.rate(epoch)
            step_users(user, items, owner, positives, negatives, pull, rate, reg, losses)
            if epoch >= _FOLD_IN_PASSES:
                total += user
        return total / np.float32(_FOLD_IN_PASSES)


@dataclass(frozen=True, eq=False)
class _Epoch:
    """One pass over the training pairs, block by block."""

    train: Interactions
    sampler: Negatives
    config: BPRConfig
    seed: int
    epoch: int
    team: Team
    users: Floats
    items: Floats

    def loss(self) -> float:
        """Learn from every pair once; returns the mean of softplus(-x) as it was met."""
        blocks = blocks_of(self.train, self.config.block_size, self.seed, self.epoch)
        total = sum(self._block(block) for block in blocks)
        return total / (self.train.n_pairs * self.config.negatives)

    def _block(self, block: Block) -> float:
        """The users' step, then the items' step; returns the sum of softplus(-x)."""
        from xorec.models.bpr_kernels import step_items, step_users

        positives = np.empty(len(block), dtype=np.int32)
        losses = np.empty(len(block), dtype=np.float32)
        negatives = np.empty((len(block), self.config.negatives), dtype=np.int32)
        pull = np.empty(negatives.shape, dtype=np.float32)
        rate, reg = self.config.rate(self.epoch), np.float32(self.config.reg)
        parts = item_parts(self.team.threads)

        def learn_users(begin: int, end: int) -> None:
            own = slice(block.starts[begin], block.starts[end])
            pairs, owner = block.pairs[own], block.users[own]
            self.sampler.draw(negatives[own], pairs, owner, self.seed, self.epoch)
            positives[own] = self.train.indices[pairs]
            triplets = (positives[own], negatives[own], pull[own])
            step_users(self.users, self.items, owner, *triplets, rate, reg, losses[own])

        def learn_items(part: int) -> None:
            triplets = (positives, negatives, pull)
            step_items(self.users, self.items, block.users, *triplets, rate, reg, part, parts)

        self.team.over(block.n_runs, learn_users)
        self.team.each(parts, learn_items)
        return float(losses.sum(dtype=np.float64))


def _vectors(arrays: Arrays) -> Vectors:
    return Vectors(arrays["user_vectors"], arrays["item_vectors"])
