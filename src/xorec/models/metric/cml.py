"""CML (Hsieh et al. 2017): users and items in one ball; what a user likes is near.

minimise  mean over pairs (u, i) of  w [margin + D_ui - D_uj*]_+  +  covariance sum_ab C_ab^2

D a squared distance, j* the nearest of `negatives` fresh ones, w = log(1 + rank) with the rank of i
estimated from how many of them come inside the margin, C the covariance of the rows of all users
and items off its diagonal. (`losses.metric` has each of them in float64.)
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from xorec.data.interactions import Interactions
from xorec.models.metric.cml_kernels import step_items, step_users
from xorec.models.metric.decorrelation import decorrelate
from xorec.models.metric.metric_learning import BallSteps, MetricConfig, MetricModel
from xorec.models.siml.siml_steps import Rows
from xorec.training.checkpoint import Arrays
from xorec.training.passes import Triplets
from xorec.training.space import POPULARITY, Choice, Float, Space


class CMLConfig(MetricConfig):
    """Settings of CML."""

    margin: float = Field(1.0, gt=0, le=4, description="how much farther negatives must be")
    rank_weight: bool = Field(True, description="weigh pairs by the log of their estimated rank")
    covariance: float = Field(0.0, ge=0, description="weight of the squared covariances")


class CML(MetricModel[CMLConfig]):
    """Collaborative metric learning: the hardest negative of several, weighed by rank."""

    name = "cml"
    Config = CMLConfig
    space: ClassVar[Space] = {
        "learning_rate": Float(0.3, 2.0, log=True),
        "margin": Float(0.3, 1.9),
        "negatives": Choice((5, 10, 20, 50)),
        "rank_weight": Choice((False, True)),
        "covariance": Choice((0.0, 1.0, 10.0)),
        "alpha": POPULARITY,
    }
    cost = 4.0
    learns_vectors = True

    def _steps(
        self, triplets: Triplets, users: Rows, items: Rows, arrays: Arrays, block: int
    ) -> BallSteps:
        return _Steps(triplets, users, items, block, self.config)

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        if self.config.covariance > 0:
            pull = self.config.covariance * train.n_pairs
            decorrelate(arrays, pull, self.config.learning_rate)


class _Steps(BallSteps):
    """CML's steps over one block; names as in `cml_kernels`."""

    def __init__(
        self, triplets: Triplets, users: Rows, items: Rows, block: int, config: CMLConfig
    ) -> None:
        super().__init__(triplets, users, items, block)
        self._margin, self._ranked = np.float32(config.margin), config.rank_weight
        self._rate = np.float32(config.learning_rate)
        self._count = config.negatives
        self.touched = np.empty((len(triplets.users), 1), dtype=np.int32)
        self.weights = np.empty(len(triplets.users), dtype=np.float32)

    def learn_users(self, own: slice) -> None:
        t, users = self.triplets, self.users
        rows = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self.touched[own, 0], self.weights[own], self.losses[own])
        settings = (self._margin, self._ranked, self._rate, users.spent)
        step_users(users.own, self.items.shown, *rows, *kept, *settings)

    def learn_items(self, part: int, parts: int) -> None:
        t, items = self.triplets, self.items
        pairs = (t.users, t.positives, self.touched[:, 0], self.weights)
        step_items(items.own, self.users.own, *pairs, self._rate, items.spent, part, parts)

    def loss(self) -> float:
        """One hinge a pair, where `training.passes` counts one a triplet."""
        return self._count * super().loss()
