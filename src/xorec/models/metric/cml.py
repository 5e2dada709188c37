"""CML (Hsieh et al. 2017): users and items in one ball; what a user likes is near.

minimise  mean over pairs (u, i) of  w [margin + D_ui - D_uj*]_+  +  covariance sum_ab C_ab^2

D a squared distance, j* the nearest of `negatives` fresh ones, w = log(1 + rank) with the rank of i
estimated from how many of them come inside the margin, C the covariance of the rows of all users
and items off its diagonal. (`losses.metric` has each of them in float64.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import empty_apart
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.metric.cml_kernels import Kept, Terms, step_items, step_users
from xorec.models.metric.decorrelation import decorrelate
from xorec.models.metric.metric_learning import BallStep, MetricConfig, MetricModel
from xorec.representations.distances import Floats
from xorec.training.checkpoint import Arrays
from xorec.training.fold_in import mean_user
from xorec.training.passes import StepOf, Triplets, UserResult
from xorec.training.rows import Rows
from xorec.training.space import POPULARITY, Choice, Float, Space


class CMLConfig(MetricConfig):
    """Settings of CML."""

    margin: float = Field(1.0, gt=0, le=4, description="how much farther negatives must be")
    rank_weight: bool = Field(True, description="weigh pairs by the log of their estimated rank")
    covariance: float = Field(0.0, ge=0, description="weight of the squared covariances")

    def terms(self) -> Terms:
        """The loss and its steps as the kernels take them."""
        margin, rate = np.float32(self.margin), np.float32(self.learning_rate)
        return Terms(margin, self.rank_weight, rate)


class CML(MetricModel[CMLConfig]):
    """Collaborative metric learning: the hardest negative of several, weighed by rank.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> CML(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

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

    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        users, items = (
            Rows.of(arrays[f"{kind}_vectors"], arrays[f"{kind}_grad_sq_sum"])
            for kind in ("user", "item")
        )
        step = CMLStep(users, items, self.config.terms(), self.config.negatives)
        return lambda block, pairs: step

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        if self.config.covariance > 0:
            weight = self.config.covariance * train.n_pairs
            decorrelate(arrays, weight, self.config.learning_rate)

    def _fixed(self, item_vectors: Floats) -> Rows:
        return Rows.fixed(item_vectors)

    def _new_user(self, items: Any, history: npt.NDArray[np.integer]) -> Rows:
        return mean_user(items.vectors, history)

    def _user_step(self, user: Any, items: Any, epoch: int) -> CMLStep:
        return CMLStep(user, items, self.config.terms(), self.config.negatives)


@dataclass(frozen=True, eq=False)
class CMLStep(BallStep):
    """CML's step over one block; names as in `cml_kernels`."""

    terms: Terms
    negatives: int

    def keep(self, pairs: int, negatives: int, users: int) -> Kept:
        weights, losses = (empty_apart(pairs, np.float32) for _ in range(2))
        return Kept(np.empty((pairs, 1), np.int32), weights, losses)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items.vectors, triplets, self.terms, new, kept)

    def touched(self, result: UserResult) -> npt.NDArray[np.int32]:
        return np.asarray(result.kept.nearest)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        step_items(result.rows.vectors, local, self.terms, result.kept, new)

    def loss(self, losses: npt.NDArray[np.float32]) -> float:
        """One hinge a pair, where a pass counts one a triplet."""
        return self.negatives * super().loss(losses)
