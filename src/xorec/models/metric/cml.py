"""CML (Hsieh et al. 2017): users and items in one ball; what a user likes is near.

minimise  mean over pairs (u, i) of  w [margin + D_ui - D_uj*]_+  +  covariance sum_ab C_ab^2

D a squared distance, j* the nearest of `negatives` fresh ones, w = log(1 + rank) with the rank of i
estimated from how many of them come inside the margin, C the covariance of the rows of all users
and items off its diagonal.

A step moves the users of a block, then its items (`training.passes`), in float32;
`tests/support/references/metric.py` has the same in float64, in plain NumPy. Users are as they are
by then; items are read as they were before the block. Rows are `training.rows.Rows`. A negative of
-1 is none. Nothing is written but `new` and `kept`. The second part of the loss takes one step for
all rows at the end of an epoch, against its gradient 4 covariance / N (x - mean) C without C's
diagonal, of the N rows of users and items.

SML shares `MetricModel`: each row's steps shrink with the gradients it has had (Adagrad, one number
a row, as in SIML), and each row that moved is brought back into the ball.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import APART, empty_apart
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import expect
from xorec.models.triplet_model import TripletModel, adagrad_rows, fold_in_passes, fold_in_user
from xorec.representations.base import Representation
from xorec.representations.vectors import Distances, Floats
from xorec.training.config import POPULARITY, Choice, Float, Space, TripletConfig
from xorec.training.epochs import Arrays
from xorec.training.passes import StepOf, Triplets, TripletStep, UserResult
from xorec.training.rows import BALL, Rows, adagrad_step, prefetch_next, project, project_rows


class MetricConfig(TripletConfig):
    """Settings of every model of points in a ball."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(1.0, gt=0, le=10, description="initial Adagrad step")


class BallStep(TripletStep):
    """A step whose items end in the ball, whether they have moved or not."""

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        project_rows(new.vectors, BALL)
        return new


M = TypeVar("M", bound=MetricConfig)


class MetricModel(TripletModel[M]):
    """Users and items as points; a model says what its step over a block is."""

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Normal vectors of about unit length, users then items, inside the ball."""
        rng = np.random.Generator(np.random.Philox(seed))
        counts, size = (train.n_users, train.n_items), self.config.dimensions
        rows = [rng.standard_normal((n, size), dtype=np.float32) for n in counts]
        users, items = (into_ball(r / np.float32(np.sqrt(size))) for r in rows)
        return {
            "user_vectors": users,
            "item_vectors": items,
            "user_grad_sq_sum": np.zeros(train.n_users, dtype=np.float32),
            "item_grad_sq_sum": np.zeros(train.n_items, dtype=np.float32),
        }

    def _represent(self, arrays: Arrays) -> Distances:
        return Distances(arrays["user_vectors"], arrays["item_vectors"])

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's point: the users' step alone, from the middle of their items, averaged
        over the last passes."""
        items = np.ascontiguousarray(expect(representation, Distances).item_vectors)
        passes = fold_in_passes(history, len(items), self.config.negatives)
        middle = items[np.unique(history)].mean(axis=0, keepdims=True)
        user = Rows.of(middle, np.zeros(1, dtype=np.float32))
        return fold_in_user(passes, *self._user_alone(items, user))

    @abstractmethod
    def _user_alone(self, items: Floats, user: Rows) -> tuple[Any, Callable[[int, Any], BallStep]]:
        """The table of a new user who starts there, and the step of a pass that moves no items."""


def into_ball(rows: npt.NDArray[np.floating]) -> Floats:
    """Rows of more than unit length are brought back to it."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1), dtype=np.float32)


class CMLLossParams(NamedTuple):
    """ranked: weigh pairs by w = log(1 + m * share of the negatives inside the margin), else 1."""

    margin: Any
    ranked: bool
    rate: Any


class CMLPairGradients(NamedTuple):
    """Of each pair: the nearest negative (P, 1), or -1 where nothing moves; 2w (P,); the loss."""

    nearest: Any
    weights: Any
    losses: Any


@inlined
def square_distance(left: Any, one: Any, right: Any, other: Any) -> Any:
    """|left[one] - right[other]|^2."""
    total = np.float32(0)
    for f in range(left.shape[1]):
        difference = left[one, f] - right[other, f]
        total += difference * difference
    return total


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, params: Any, new: Any, kept: Any) -> None:
    """Each user's step, pair after pair, along -2w (d_j* - d_i); kept: j* and 2w of each pair.

    items (m, d); new: the rows of the users of the triplets, after the step.
    """
    positives, negatives, rows = triplets.positives, triplets.negatives, new.vectors
    size, count, catalogue = items.shape[1], negatives.shape[1], np.float32(len(items))
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table, u = items.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            new.grad_sq_sum[u] = users.grad_sq_sum[triplets.users[pair]]
            for f in range(size):
                rows[u, f] = users.vectors[triplets.users[pair], f]
        limit = params.margin + square_distance(rows, u, items, i)
        hinge, best, inside, drawn = np.float32(0), -1, np.float32(0), np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0:
                drawn += np.float32(1)
                excess = limit - square_distance(rows, u, items, j)
                if excess > np.float32(0):
                    inside += np.float32(1)
                    if excess > hinge:
                        hinge, best = excess, j
        kept.nearest[pair, 0] = best
        kept.weights[pair] = np.float32(0)
        kept.losses[pair] = np.float32(0)
        if best >= 0:
            weight = np.float32(1)
            if params.ranked:
                weight = np.log(np.float32(1) + catalogue * inside / drawn)
            kept.losses[pair] = weight * hinge
            weight *= np.float32(2)
            kept.weights[pair] = weight
            square = np.float32(0)
            for f in range(size):
                gradient[f] = weight * (items[best, f] - items[i, f])
                square += gradient[f] * gradient[f]
            adagrad_step(rows, u, gradient, square, new.grad_sq_sum, params.rate)
            project(rows, rows, u, BALL)


@fast_kernel
def step_items(users: Any, local: Any, params: Any, kept: Any, new: Any) -> None:
    """The items of `new`, by their numbers in `local`, in both roles, pair after pair.

    i: -2w (d_i - b_u)    j*: -2w (b_u - d_j*), from where the item has come to by then.
    users (R, d): those of the triplets, after their own step.
    """
    size, rows = users.shape[1], new.vectors
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    for pair in range(len(local.users)):
        u = local.users[pair]
        if kept.nearest[pair, 0] >= 0:
            for role in range(2):
                v = local.positives[pair] if role == 0 else local.negatives[pair, 0]
                weight = kept.weights[pair] if role == 0 else -kept.weights[pair]
                if v >= 0:
                    square = np.float32(0)
                    for f in range(size):
                        gradient[f] = weight * (rows[v, f] - users[u, f])
                        square += gradient[f] * gradient[f]
                    adagrad_step(rows, v, gradient, square, new.grad_sq_sum, params.rate)


_PIECE = 16_384
_TINY = 1e-8


def decorrelate(arrays: Arrays, weight: float, rate: float) -> None:
    """Move user_vectors and item_vectors in place, by Adagrad.

    A row that has not moved yet stays: it has no pairs, and its first step would be a full one.
    """
    kinds = ("user", "item")
    total = sum(len(arrays[f"{kind}_vectors"]) for kind in kinds)
    size = arrays["user_vectors"].shape[1]
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for kind in kinds:
        for part in _pieces(arrays[f"{kind}_vectors"]):
            mean += part.sum(axis=0, dtype=np.float64) / total
    for kind in kinds:
        for part in _pieces(arrays[f"{kind}_vectors"]):
            centred = part - mean
            covariance += centred.T @ centred / total
    np.fill_diagonal(covariance, 0)
    for kind in kinds:
        pieces = zip(
            _pieces(arrays[f"{kind}_vectors"]), _pieces(arrays[f"{kind}_grad_sq_sum"]), strict=True
        )
        for part, grad_sq_sum in pieces:
            gradient = 4 * weight / total * (part - mean) @ covariance
            gradient[grad_sq_sum == 0] = 0
            grad_sq_sum += np.sum(gradient**2, axis=1).astype(np.float32)
            moved = part - rate * gradient / np.sqrt(grad_sq_sum + _TINY)[:, None]
            part[:] = moved / np.maximum(1, np.linalg.norm(moved, axis=1, keepdims=True))


def _pieces(rows: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    """Views of some rows after another, so that no large copy is made."""
    for begin in range(0, len(rows), _PIECE):
        yield rows[begin : begin + _PIECE]


class CMLConfig(MetricConfig):
    """Settings of CML."""

    margin: float = Field(1.0, gt=0, le=4, description="how much farther negatives must be")
    rank_weight: bool = Field(True, description="weigh pairs by the log of their estimated rank")
    covariance: float = Field(0.0, ge=0, description="weight of the squared covariances")

    def params(self) -> CMLLossParams:
        """The loss and its steps as the kernels take them."""
        margin, rate = np.float32(self.margin), np.float32(self.learning_rate)
        return CMLLossParams(margin, self.rank_weight, rate)


class CML(MetricModel[CMLConfig]):
    """Collaborative metric learning: the hardest negative of several, weighed by rank.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> CML(dimensions=4, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "cml"
    Config = CMLConfig
    triplet_cost = 0.3
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
        step = CMLStep(*adagrad_rows(arrays), self.config.params(), self.config.negatives)
        return lambda block, pairs: step

    def _after_epoch(self, train: Interactions, arrays: Arrays) -> None:
        if self.config.covariance > 0:
            weight = self.config.covariance * train.n_pairs
            decorrelate(arrays, weight, self.config.learning_rate)

    def _user_alone(self, items: Floats, user: Rows) -> Any:
        how = (Rows.fixed(items), self.config.params(), self.config.negatives)
        return user, lambda epoch, now: CMLStep(now, *how)


@dataclass(frozen=True, eq=False)
class CMLStep(BallStep):
    """CML's step over one block; names as in the kernels."""

    params: CMLLossParams
    negatives: int

    def keep(self, pairs: int, negatives: int, users: int) -> CMLPairGradients:
        weights, losses = (empty_apart(pairs, np.float32) for _ in range(2))
        return CMLPairGradients(np.empty((pairs, 1), np.int32), weights, losses)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users, self.items.vectors, triplets, self.params, new, kept)

    def touched(self, result: UserResult) -> npt.NDArray[np.int32]:
        return np.asarray(result.kept.nearest)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        step_items(result.rows.vectors, local, self.params, result.kept, new)

    def loss(self, losses: npt.NDArray[np.float32]) -> float:
        """One hinge a pair, where a pass counts one a triplet."""
        return self.negatives * super().loss(losses)
