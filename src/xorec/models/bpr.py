"""BPR-MF (Rendle et al. 2009): a dot product that ranks what a user has before what they lack.

minimise  sum over (u, i, j) of  softplus(-x) + reg/2 (|b_u|^2 + |d_i|^2 + |d_j|^2),
x = b_u.(d_i - d_j), by stochastic gradient steps over blocks of pairs (`optim.blocks`), `negatives`
fresh negatives j for each positive pair (u, i) in each epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.optim.blocks import blocks_of, item_owners
from xorec.optim.checkpoint import Arrays
from xorec.optim.epochs import EpochConfig, EpochTrainer
from xorec.options import RunOptions
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors

_FOLD_IN_PASSES = 20


class BPRConfig(EpochConfig):
    """Settings of BPR."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(0.05, gt=0, le=10, description="size of a gradient step")
    decay: float = Field(0.0, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(0.01, ge=0, description="weight of the squared norms, per triplet")
    negatives: int = Field(4, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    init_scale: float = Field(0.1, gt=0, description="standard deviation of the first vectors")
    block_size: int = Field(32_768, ge=1, description="pairs that share one snapshot")


class BPR(Model[BPRConfig]):
    """Matrix factorisation with the pairwise logistic loss."""

    name = "bpr"
    Config = BPRConfig

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        owners = item_owners(options.thread_count)

        def step(epoch: int, arrays: Arrays) -> dict[str, float]:
            return self._epoch(train, sampler, arrays, options.seed, epoch, owners)

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

    def _epoch(
        self,
        train: Interactions,
        sampler: Negatives,
        arrays: Arrays,
        seed: int,
        epoch: int,
        owners: int,
    ) -> dict[str, float]:
        """One pass over the pairs; returns the mean of softplus(-x) as it was met."""
        from xorec.models.bpr_kernels import step_items, step_users

        config = self.config
        users, items = arrays["user_vectors"], arrays["item_vectors"]
        rate = np.float32(config.learning_rate / (1 + config.decay * epoch))
        reg = np.float32(config.reg)
        total = 0.0
        for block in blocks_of(train, config.block_size, seed, epoch):
            negatives = sampler.draw(block.pairs, block.users, config.negatives, seed, epoch)
            positives = train.indices[block.pairs]
            pull = np.empty(negatives.shape, dtype=np.float32)
            run = (users, items, block.users, block.starts, positives, negatives, pull, rate, reg)
            step_users(*run)
            step_items(*run, owners)
            total -= float(np.log(np.maximum(1 - pull, np.float32(1e-12))).sum(dtype=np.float64))
        return {"loss": total / (train.n_pairs * config.negatives)}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the users' step alone, averaged over the last passes."""
        assert isinstance(representation, Vectors)
        from xorec.models.bpr_kernels import step_users

        config, items = self.config, np.ascontiguousarray(representation.item_vectors)
        positives = np.unique(history).astype(np.int32)
        pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
        starts = np.array([0, len(positives)])
        sampler = Negatives(positives, starts, representation.n_items)
        user = np.zeros((1, items.shape[1]), dtype=np.float32)
        rate, reg = np.float32(config.learning_rate), np.float32(config.reg)
        total = np.zeros_like(user)
        for epoch in range(2 * _FOLD_IN_PASSES):
            negatives = sampler.draw(pairs, owner, config.negatives, 0, epoch)
            pull = np.empty(negatives.shape, dtype=np.float32)
            step_users(user, items, owner, starts, positives, negatives, pull, rate, reg)
            if epoch >= _FOLD_IN_PASSES:
                total += user
        return total / np.float32(_FOLD_IN_PASSES)


def _vectors(arrays: Arrays) -> Vectors:
    return Vectors(arrays["user_vectors"], arrays["item_vectors"])
