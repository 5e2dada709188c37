"""SML (Li et al. 2020): CML from both sides, with margins that are learned.

minimise  mean over (u, i, j) of  [D_ui - D_uj + m_u]_+  +  lambda [D_ui - D_ij + n_i]_+
                                  - rho (m_u + lambda n_i),        0 <= m_u, n_i <= max_margin

D a squared distance between points in the unit ball. A margin stands still where the share rho of
its triplets violate it. The authors' code adds the hinges of a batch up but averages what margins
earn, which makes that share gamma / batch: with their numbers 2 %, and the users' margins collapse.
`scaling="released"` does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import empty_apart
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.metric.metric_learning import BallStep, MetricConfig, MetricModel
from xorec.models.metric.sml_kernels import Kept, MarginRows, Terms, step_items, step_users
from xorec.representations.distances import Floats
from xorec.training.checkpoint import Arrays
from xorec.training.fold_in import mean_user
from xorec.training.losses.metric import sml_rewards
from xorec.training.passes import StepOf, Triplets, UserResult
from xorec.training.space import POPULARITY, Float, Int, Space


class SMLConfig(MetricConfig):
    """Settings of SML."""

    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    lambda_: float = Field(0.1, ge=0, description="weight of the hinge between items")
    rho: float = Field(
        0.3,
        ge=0,
        le=1,
        description="share of triplets inside the margin at which margins come to rest",
    )
    scaling: Literal["mean", "released"] = Field(
        "mean", description="margins earn rho a triplet, or gamma / batch as in the released code"
    )
    gamma: float = Field(10.0, ge=0, description="what margins earn, with the released scaling")
    batch: int = Field(512, ge=1, description="what gamma is divided by, with that scaling")
    max_margin: float = Field(1.0, gt=0, le=4, description="largest margin, and the first one")
    margin_rate: float = Field(0.1, ge=0, le=10, description="length of a margin's first step")

    def rewards(self) -> tuple[float, float]:
        """What a user's and an item's margin earn in each triplet."""
        return sml_rewards(
            self.scaling,
            lambda_=self.lambda_,
            rho=self.rho,
            gamma=self.gamma,
            batch=self.batch,
        )

    def terms(self) -> Terms:
        """The loss and its steps as the kernels take them."""
        sizes = (self.learning_rate, self.margin_rate, self.max_margin)
        return Terms(*map(np.float32, (self.lambda_, *self.rewards(), *sizes)))


class SML(MetricModel[SMLConfig]):
    """Symmetric metric learning: a hinge at the user, one at the item, margins of their own.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> SML(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "sml"
    Config = SMLConfig
    space: ClassVar[Space] = {
        "learning_rate": Float(0.3, 2.0, log=True),
        "lambda_": Float(0.01, 1.0, log=True),
        "rho": Float(0.1, 0.9),
        "negatives": Int(2, 40, log=True),
        "alpha": POPULARITY,
    }
    learns_vectors = True

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Points, margins, all at their largest, and the squared gradients of both."""
        arrays = super()._start(train, seed)
        for kind, count in (("user", train.n_users), ("item", train.n_items)):
            arrays[f"{kind}_margins"] = np.full(count, np.float32(self.config.max_margin))
            arrays[f"{kind}_margin_grad_sq_sum"] = np.zeros(count, dtype=np.float32)
        return arrays

    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        users, items = (
            MarginRows(*(arrays[f"{kind}_{name}"] for name in MarginRows._fields))
            for kind in ("user", "item")
        )
        step = SMLStep(users, items, self.config.terms())
        return lambda block, pairs: step

    def _fixed(self, item_vectors: Floats) -> MarginRows:
        """A new user meets items with the largest margins: what is stored has the points only."""
        none = np.zeros(0, dtype=np.float32)
        margins = np.full(len(item_vectors), np.float32(self.config.max_margin))
        return MarginRows(np.ascontiguousarray(item_vectors), none, margins, none)

    def _new_user(self, items: Any, history: npt.NDArray[np.integer]) -> MarginRows:
        user = mean_user(items.vectors, history)
        margin = np.full(1, np.float32(self.config.max_margin))
        return MarginRows(user.vectors, user.grad_sq_sum, margin, np.zeros(1, dtype=np.float32))

    def _user_step(self, user: Any, items: Any, epoch: int) -> SMLStep:
        return SMLStep(user, items, self.config.terms())


@dataclass(frozen=True, eq=False)
class SMLStep(BallStep):
    """SML's step over one block; names as in `sml_kernels`."""

    terms: Terms

    def keep(self, pairs: int, negatives: int, users: int) -> Kept:
        return Kept(
            empty_apart((pairs, negatives), np.int8),
            empty_apart((pairs, self.users.vectors.shape[1]), np.float32),
            empty_apart(pairs, np.float32),
        )

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items, triplets, self.terms, new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        vectors = (result.rows.vectors, self.items.vectors)
        step_items(*vectors, result.triplets, local, self.terms, result.kept, new)
