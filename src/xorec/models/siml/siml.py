"""SIML: scale-invariant metric learning. Unit vectors, angles that stay small at any density.

BPR's pairwise part on the unit sphere, and an angle at each negative that must stay small however
dense the neighbourhood is (METHOD, section 2).

minimise  sum over (u, i, j) of  l(x) + lambda l(y),  l(t) = log(1 + e^t),  on unit vectors
x = (c_uj - c_ui) / 2,   y = tau (2 gamma^2 (c_uj + c_ij) - (1 + gamma^2) c_ui),  c a cosine.

Each row's steps shrink with the gradients it has had (Adagrad, one number a row): popular items
take many in one block, and plain steps would throw them about.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import Model
from xorec.models.siml.siml_steps import Rows, Steps, Terms
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig, ModelConfig
from xorec.training.discrete.rotation import unit_rows
from xorec.training.epochs import EpochTrainer
from xorec.training.losses.scale_invariant import margin_offset
from xorec.training.passes import Pass, Triplets
from xorec.training.row_kernels import BALL, FREE, SPHERE
from xorec.training.space import Choice, Float, Space

_NORMS = {"sphere": SPHERE, "ball": BALL, "free": FREE}
_FOLD_IN_PASSES = 20


class ScaleInvariantLoss(ModelConfig):
    """The settings of the loss."""

    gamma: float = Field(1.0, ge=0, le=10, description="tangent of the angle that is allowed")
    lambda_: float = Field(1.0, ge=0, description="weight of the scale-invariant part")
    temperature: float = Field(4.0, gt=0, description="steepness of the scale-invariant part")
    margin: Literal["paper", "geometric"] = Field(
        "paper", description="drop or keep the constant 1 - 3 gamma^2 inside the log"
    )
    form: Literal["triplet", "npair"] = Field(
        "npair", description="a log for each negative, or one around all of a pair (N-pair)"
    )

    def loss(self) -> Terms:
        """The loss as the kernels take it, on the unit sphere."""
        return Terms(
            self.gamma**2,
            self.lambda_,
            self.temperature,
            margin_offset(self.gamma, self.margin),
            self.form == "npair",
        )


class ScaleInvariantConfig(ScaleInvariantLoss, EpochConfig):
    """The settings of the loss and its triplets, which SIML and DSIML share."""

    negatives: int = Field(20, ge=1, le=1000, description="negatives per positive, each epoch")
    alpha: float = Field(0.0, ge=0, le=2, description="negatives by popularity**alpha; 0: uniform")
    block_size: int = Field(32_768, ge=1, description="pairs between two looks at each other")


class SIMLConfig(ScaleInvariantConfig):
    """Settings of SIML."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    norms: Literal["sphere", "ball", "free"] = Field("sphere", description="where vectors live")
    learning_rate: float = Field(1.0, gt=0, le=10, description="length of a row's first step")
    reg: float = Field(0.0, ge=0, description="weight of the squared norms: for free norms")

    def terms(self) -> Terms:
        """The loss and its steps as the kernels take them."""
        kind = _NORMS[self.norms]
        return replace(self.loss(), kind=kind, rate=self.learning_rate, reg=self.reg)


class SIML(Model[SIMLConfig]):
    """Vectors on the unit sphere, learned with the scale-invariant loss."""

    name = "siml"
    Config = SIMLConfig
    space: ClassVar[Space] = {
        "form": Choice(("npair", "triplet")),
        "norms": Choice(("sphere", "ball")),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.4, 7.0, log=True),
        "negatives": Choice((20, 50)),
    }
    cost = 6.0
    learns_vectors = True

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.alpha)
        size = (self.config.negatives, self.config.block_size, options.seed)
        terms = self.config.terms()
        with options.thread_pool() as pool:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                users = Rows.of(arrays["user_vectors"], arrays["user_spent"])
                rows = (arrays["item_vectors"], arrays["item_spent"])
                items, blocks = Rows.of(*rows, items=True), count()
                run = Pass(train, sampler, *size, epoch, pool)
                return {"loss": run.run(lambda t: Steps(t, users, items, terms, next(blocks)))}

            state = trainer.run(self._start(train, options.seed), step, _vectors)
        return _vectors(state.arrays)

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Random directions, users then items, from NumPy's own counter-based Philox."""
        rng = np.random.Generator(np.random.Philox(seed))
        size = self.config.dimensions
        users = rng.standard_normal((train.n_users, size), dtype=np.float32)
        items = rng.standard_normal((train.n_items, size), dtype=np.float32)
        return {
            "user_vectors": unit_rows(users),
            "item_vectors": unit_rows(items),
            "user_spent": np.zeros(train.n_users, dtype=np.float32),
            "item_spent": np.zeros(train.n_items, dtype=np.float32),
        }

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the users' step alone, averaged over the last passes."""
        assert isinstance(representation, Vectors)
        user = folded(
            representation.item_vectors, history, self.config.terms(), self.config.negatives
        )
        return unit_rows(user) if self.config.norms == "sphere" else user


def folded(
    item_vectors: Floats, history: npt.NDArray[np.integer], terms: Terms, count: int
) -> Floats:
    """The vector (1, d) of somebody who has the items `history`, items fixed.

    The users' step alone, `count` fresh negatives a pair, averaged over the last passes.
    """
    items = np.ascontiguousarray(item_vectors)
    positives = np.unique(history).astype(np.int32)
    pairs, owner = np.arange(len(positives)), np.zeros(len(positives), dtype=np.int32)
    sampler = Negatives(positives, np.array([0, len(positives)]), len(items))
    user = items[positives].mean(axis=0, keepdims=True)
    negatives = np.empty((len(positives), count), dtype=np.int32)
    triplets, total = Triplets(owner, positives, negatives), np.zeros_like(user)
    rows = Rows.of(user, np.zeros(1, dtype=np.float32))
    fixed = Rows(items, items, np.zeros(0, np.float32), np.zeros(0, np.int64))
    for epoch in range(2 * _FOLD_IN_PASSES):
        sampler.draw(negatives, pairs, owner, 0, epoch)
        Steps(triplets, rows, fixed, terms).learn_users(slice(None))
        if epoch >= _FOLD_IN_PASSES:
            total += user
    return np.asarray(total / _FOLD_IN_PASSES, dtype=np.float32)


def _vectors(arrays: Arrays) -> Vectors:
    return Vectors(arrays["user_vectors"], arrays["item_vectors"])
