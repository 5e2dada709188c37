"""SML (Li et al. 2020): CML from both sides, with margins that are learned.

minimise  mean over (u, i, j) of  [D_ui - D_uj + m_u]_+  +  lambda [D_ui - D_ij + n_i]_+
                                  - rho (m_u + lambda n_i),        0 <= m_u, n_i <= max_margin

D a squared distance between points in the unit ball. A margin stands still where the share rho of
its triplets violate it. The authors' code adds the hinges of a batch up but averages what margins
earn, which makes that share gamma / batch: with their numbers 2 %, and the users' margins collapse.
`scaling="released"` does that.

A step moves the users of a block, then its items (`training.passes`), in float32. Of each triplet
(u, i, j_k), with x_k = 1 and y_k = lambda where a hinge is active (the same in
`tests/support/references/metric.py`, in plain NumPy):

    u:   2 sum_k  x_k (d_j - d_i) + y_k (b_u - d_i)             m_u: sum_k x_k - r_u
    i:   2 sum_k  x_k (d_i - b_u) + y_k (d_j - b_u)             n_i: sum_k y_k - r_i
    j_k: 2 x_k (b_u - d_j) + 2 y_k (d_i - d_j)

Users and their margins are as they are by then; items and theirs are read as they were before the
block. A negative of -1 is none. Nothing is written but `new` and `kept`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from xorec.core.arrays import APART, empty_apart
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.metric.cml import BallStep, MetricConfig, MetricModel, square_distance
from xorec.representations.vectors import Floats
from xorec.training.config import POPULARITY, Float, Int, Space
from xorec.training.epochs import Arrays
from xorec.training.passes import StepOf, Triplets, UserResult
from xorec.training.rows import BALL, Rows, adagrad_step, prefetch_next, project

_TINY = np.float32(1e-8)


class MarginRows(NamedTuple):
    """Points (n, d), their margins (n,), and the sums of the squared gradients of both (n,)."""

    vectors: Any
    grad_sq_sum: Any
    margins: Any
    margin_grad_sq_sum: Any


class SMLLossParams(NamedTuple):
    """The loss and its steps; rewards: what the margins earn in each triplet."""

    lambda_: Any
    user_reward: Any
    item_reward: Any
    rate: Any
    margin_rate: Any
    max_margin: Any


class SMLPairGradients(NamedTuple):
    """active (P, K): 1 for the user's hinge, 2 for the item's, 3 for both;
    negatives (P, d): sum_k y_k d_jk; losses (P,)."""

    active: Any
    negatives: Any
    losses: Any


@inlined
def move_margin(rows: Any, row: Any, gradient: Any, params: Any) -> None:
    """An Adagrad step of a margin, within 0 .. max_margin."""
    grad_sq_sum = rows.margin_grad_sq_sum
    grad_sq_sum[row] += gradient * gradient
    margin = rows.margins[row] - params.margin_rate * gradient / np.sqrt(grad_sq_sum[row] + _TINY)
    rows.margins[row] = min(max(margin, np.float32(0)), params.max_margin)


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, params: Any, new: Any, kept: Any) -> None:
    """Each user's step and that of their margin, pair after pair.

    users, items: `MarginRows`; new: those of the users of the triplets, after the step.
    """
    positives, negatives, lambda_ = triplets.positives, triplets.negatives, params.lambda_
    rows, points, active = new.vectors, items.vectors, kept.active
    size, count = points.shape[1], negatives.shape[1]
    zero, two = np.float32(0), np.float32(2)
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table, u = points.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            _copy_row(users, triplets.users[pair], new, u)
        near = square_distance(rows, u, points, i)
        m, n = new.margins[u], items.margins[i]
        loss, drawn, near_count, far_count = zero, zero, zero, zero
        for f in range(size):
            gradient[f] = np.float32(0)
            kept.negatives[pair, f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            active[pair, k] = 0
            if j >= 0:
                drawn += np.float32(1)
                excess = near - square_distance(rows, u, points, j) + m
                if excess > np.float32(0):
                    loss += excess
                    near_count += np.float32(1)
                    active[pair, k] += 1
                    for f in range(size):
                        gradient[f] += points[j, f]
                excess = near - square_distance(points, i, points, j) + n
                if lambda_ > np.float32(0) and excess > np.float32(0):
                    loss += lambda_ * excess
                    far_count += lambda_
                    active[pair, k] += 2
                    for f in range(size):
                        kept.negatives[pair, f] += lambda_ * points[j, f]
        kept.losses[pair] = loss - drawn * (params.user_reward * m + params.item_reward * n)
        square = np.float32(0)
        for f in range(size):
            rest = far_count * rows[u, f] - (near_count + far_count) * points[i, f]
            gradient[f] = two * (gradient[f] + rest)
            square += gradient[f] * gradient[f]
        if drawn > np.float32(0):
            adagrad_step(rows, u, gradient, square, new.grad_sq_sum, params.rate)
            project(rows, rows, u, BALL)
            move_margin(new, u, near_count - drawn * params.user_reward, params)


@inlined
def _copy_row(rows: Any, row: Any, new: Any, at: Any) -> None:
    new.grad_sq_sum[at] = rows.grad_sq_sum[row]
    new.margins[at] = rows.margins[row]
    new.margin_grad_sq_sum[at] = rows.margin_grad_sq_sum[row]
    for f in range(rows.vectors.shape[1]):
        new.vectors[at, f] = rows.vectors[row, f]


@fast_kernel
def step_items(
    users: Any, items: Any, triplets: Any, local: Any, params: Any, kept: Any, new: Any
) -> None:
    """The items of `new`, by their numbers in `local`, in both roles, pair after pair.

    users (R, d): those of the triplets, after their own step; items (m, d): before the block.
    """
    lambda_, active, rows = params.lambda_, kept.active, new.vectors
    size, count, two = users.shape[1], local.negatives.shape[1], np.float32(2)
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table = rows.ravel()
    for pair in range(len(local.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, i, v = local.users[pair], triplets.positives[pair], local.positives[pair]
        if v >= 0:
            near_count, far_count, drawn = np.float32(0), np.float32(0), np.float32(0)
            for k in range(count):
                near_count += np.float32(active[pair, k] & 1)
                far_count += lambda_ * np.float32(active[pair, k] >> 1)
                drawn += np.float32(triplets.negatives[pair, k] >= 0)
            square = np.float32(0)
            for f in range(size):
                rest = near_count * rows[v, f] - (near_count + far_count) * users[u, f]
                gradient[f] = two * (kept.negatives[pair, f] + rest)
                square += gradient[f] * gradient[f]
            adagrad_step(rows, v, gradient, square, new.grad_sq_sum, params.rate)
            move_margin(new, v, far_count - drawn * params.item_reward, params)
        for k in range(count):
            v = local.negatives[pair, k]
            if active[pair, k] > 0 and v >= 0:
                x = two * np.float32(active[pair, k] & 1)
                y = two * lambda_ * np.float32(active[pair, k] >> 1)
                square = np.float32(0)
                for f in range(size):
                    gradient[f] = x * users[u, f] + y * items[i, f] - (x + y) * rows[v, f]
                    square += gradient[f] * gradient[f]
                adagrad_step(rows, v, gradient, square, new.grad_sq_sum, params.rate)


class SMLConfig(MetricConfig):
    """Settings of SML."""

    negatives: int = Field(5, ge=1, le=1000, description="negatives per positive, each epoch")
    lambda_: float = Field(0.1, ge=0, description="weight of the hinge between items")
    rho: float = Field(
        0.3, ge=0, le=1, description="share of triplets inside the margin at which margins settle"
    )
    scaling: Literal["mean", "released"] = Field(
        "mean", description="margin reward: rho a triplet (mean), or gamma / batch (released code)"
    )
    gamma: float = Field(
        10.0, ge=0, description="weight of the margin reward, scaled as in the released code"
    )
    batch: int = Field(
        512, ge=1, description="batch size that the released scaling divides gamma by"
    )
    max_margin: float = Field(1.0, gt=0, le=4, description="largest margin, and the first one")
    margin_rate: float = Field(0.1, ge=0, le=10, description="initial Adagrad step of a margin")

    def rewards(self) -> tuple[float, float]:
        """(r_u, r_i): what the margins of a user and an item earn in each triplet.

        "mean": hinges and rewards are both means over triplets, so rho is the share of violations
        that both margins settle at. "released": the authors' code adds the hinges of a batch up but
        averages the rewards, gamma (mean m_u + mean n_i): the share is gamma / batch, some percent.

        >>> SMLConfig(lambda_=0.5, rho=0.2).rewards()
        (0.2, 0.1)
        """
        if self.scaling == "mean":
            return self.rho, self.lambda_ * self.rho
        return self.gamma / self.batch, self.gamma / self.batch

    def params(self) -> SMLLossParams:
        """The loss and its steps as the kernels take them."""
        sizes = (self.learning_rate, self.margin_rate, self.max_margin)
        return SMLLossParams(*map(np.float32, (self.lambda_, *self.rewards(), *sizes)))


class SML(MetricModel[SMLConfig]):
    """Symmetric metric learning: a hinge at the user, one at the item, margins of their own.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
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
        step = SMLStep(users, items, self.config.params())
        return lambda block, pairs: step

    def _user_alone(self, items: Floats, user: Rows) -> Any:
        """Items with the largest margins: what is stored has the points only."""
        most, none = np.float32(self.config.max_margin), np.zeros(0, dtype=np.float32)
        fixed = MarginRows(items, none, np.full(len(items), most), none)
        zero, params = np.zeros(1, dtype=np.float32), self.config.params()
        start = MarginRows(user.vectors, user.grad_sq_sum, np.full(1, most), zero)
        return start, lambda epoch, now: SMLStep(now, fixed, params)


@dataclass(frozen=True, eq=False)
class SMLStep(BallStep):
    """SML's step over one block; names as in the kernels."""

    params: SMLLossParams

    def keep(self, pairs: int, negatives: int, users: int) -> SMLPairGradients:
        return SMLPairGradients(
            empty_apart((pairs, negatives), np.int8),
            empty_apart((pairs, self.users.vectors.shape[1]), np.float32),
            empty_apart(pairs, np.float32),
        )

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items, triplets, self.params, new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        vectors = (result.rows.vectors, self.items.vectors)
        step_items(*vectors, result.triplets, local, self.params, result.kept, new)
