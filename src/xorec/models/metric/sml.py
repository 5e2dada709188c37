"""SML (Li et al. 2020): CML from both sides, with margins that are learned.

minimise  mean over (u, i, j) of  [D_ui - D_uj + m_u]_+  +  lambda [D_ui - D_ij + n_i]_+
                                  - rho (m_u + lambda n_i),        0 <= m_u, n_i <= max_margin

D a squared distance between points in the unit ball. A margin stands still where the share rho of
its triplets violate it. The authors' code adds the hinges of a batch up but averages what margins
earn, which makes that share gamma / batch: with their numbers 2 %, and the users' margins collapse.
`scaling="released"` does that.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from xorec.models.metric.metric_learning import BallSteps, MetricConfig, MetricModel
from xorec.models.metric.sml_kernels import step_items, step_users
from xorec.models.siml.siml_steps import Rows
from xorec.training.checkpoint import Arrays
from xorec.training.losses.metric import sml_rewards
from xorec.training.passes import Triplets
from xorec.training.space import POPULARITY, Float, Int, Space


class SMLConfig(MetricConfig):
    """Settings of SML."""

    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    lambda_: float = Field(0.1, ge=0, description="weight of the hinge between items")
    rho: float = Field(0.3, ge=0, le=1, description="share of violated triplets margins settle at")
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


class SML(MetricModel[SMLConfig]):
    """Symmetric metric learning: a hinge at the user, one at the item, margins of their own."""

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

    def _steps(
        self, triplets: Triplets, users: Rows, items: Rows, arrays: Arrays, block: int
    ) -> BallSteps:
        return _Steps(triplets, users, items, block, arrays, self.config)

    def _more(self, n_users: int, n_items: int) -> Arrays:
        """Margins, all at their largest, and the squared slopes that each has had.

        A new user meets items with such margins too: what is stored has the points only.
        """
        most = np.float32(self.config.max_margin)
        return {
            "user_margins": np.full(n_users, most),
            "item_margins": np.full(n_items, most),
            "user_margin_spent": np.zeros(n_users, dtype=np.float32),
            "item_margin_spent": np.zeros(n_items, dtype=np.float32),
        }


class _Steps(BallSteps):
    """SML's steps over one block; names as in `sml_kernels`."""

    def __init__(
        self,
        triplets: Triplets,
        users: Rows,
        items: Rows,
        block: int,
        arrays: Arrays,
        config: SMLConfig,
    ) -> None:
        super().__init__(triplets, users, items, block)
        self.touched, self._arrays = triplets.negatives, arrays
        self._lambda, self._rate = np.float32(config.lambda_), np.float32(config.learning_rate)
        of_user, of_item = config.rewards()
        self._rewards = np.float32(of_user), np.float32(of_item)
        self._margin_rate = np.float32(config.margin_rate)
        self._most = np.float32(config.max_margin)
        pairs, count = triplets.negatives.shape
        self.active = np.empty((pairs, count), dtype=np.int8)
        self._lean = np.empty((pairs, items.own.shape[1]), dtype=np.float32)

    def learn_users(self, own: slice) -> None:
        t, users, arrays = self.triplets, self.users, self._arrays
        rows = (t.users[own], t.positives[own], t.negatives[own])
        kept = (self.active[own], self._lean[own], self.losses[own])
        margins = (arrays["user_margins"], arrays["item_margins"], self._lambda, *self._rewards)
        margin_steps = (self._margin_rate, arrays["user_margin_spent"], self._most)
        steps = (self._rate, users.spent, *margin_steps)
        step_users(users.own, self.items.shown, *rows, *kept, *margins, *steps)

    def learn_items(self, part: int, parts: int) -> None:
        t, items, arrays = self.triplets, self.items, self._arrays
        vectors = (items.own, items.shown, self.users.own, t.users, t.positives, t.negatives)
        margins = (arrays["item_margins"], self._lambda, self._rewards[1])
        margin_steps = (self._margin_rate, arrays["item_margin_spent"], self._most)
        steps = (self._rate, items.spent, *margin_steps)
        step_items(*vectors, self.active, self._lean, *margins, *steps, part, parts)
