"""BPR-MF (Rendle et al. 2009): a dot product that ranks what a user has before what they lack.

minimise  sum over (u, i, j) of  softplus(-x) + reg/2 (|b_u|^2 + |d_i|^2 + |d_j|^2),
x = b_u.(d_i - d_j), by stochastic gradient steps over blocks of pairs (`training.blocks`),
`negatives` fresh negatives j for each positive pair (u, i) in each epoch.

A step moves the users of a block, then its items (`training.passes`). Shapes: users (n, d), items
(m, d); triplets of P pairs with K negatives; sigma (P, K), losses (P,). A negative of -1 is none.
Nothing is written but `new` and `kept`.

`bpr_users` and `bpr_items` give the gradients of the mean loss over a block without a step, for
models whose rows are made of others (LightGCN, LightRec). new: the sums of the gradients and how
often a row came (`training.rows.Gradients`), a negative counting as its share of the pair.
share = 1 / triplets; kept.sigma is share sigma(-x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.arrays import APART, empty_apart
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import expect
from xorec.models.triplet_model import TripletModel, fold_in_passes, fold_in_user
from xorec.representations.base import Representation
from xorec.representations.vectors import Floats, Vectors
from xorec.training.config import POPULARITY, Float, Int, Space, TripletConfig
from xorec.training.epochs import Arrays
from xorec.training.passes import GradientStep, StepOf, Triplets, TripletStep, UserResult
from xorec.training.rows import prefetch_next

_STEEP = np.float32(15)  # beyond, sigma is flat: keeps exp and log finite


class BPRPairGradients(NamedTuple):
    """Of each triplet sigma(-x) (P, K), of each pair the sum of softplus(-x) (P,)."""

    sigma: Any
    losses: Any

    @classmethod
    def empty(cls, pairs: int, negatives: int, dtype: Any = np.float32) -> BPRPairGradients:
        """Room for so many pairs."""
        return cls(empty_apart((pairs, negatives), dtype), empty_apart(pairs, dtype))


class StepSize(NamedTuple):
    """The length of the steps, and the weight of the squared norms."""

    rate: Any
    reg: Any


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, step: Any, new: Any, kept: Any) -> None:
    """b_u += rate (sigma(-x) (d_i - d_j) - reg b_u), triplet after triplet of the user.

    sigma(-x), with the user as it is by then, is kept for the items' step. new (R, d): the users of
    the triplets after it. (All negatives of a pair at once would be faster, but overshoots and
    diverges at useful rates.)
    """
    positives, negatives, sigma = triplets.positives, triplets.negatives, kept.sigma
    size, count = users.shape[1], negatives.shape[1]
    keep = np.float32(1) - step.rate * step.reg
    table, u = items.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            for f in range(size):
                new[u, f] = users[triplets.users[pair], f]
        loss = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            sigma[pair, k] = np.float32(0)
            if j >= 0:
                x = np.float32(0)
                for f in range(size):
                    x += new[u, f] * (items[i, f] - items[j, f])
                x = min(max(x, -_STEEP), _STEEP)
                weight = np.float32(1) / (np.float32(1) + np.exp(x))
                sigma[pair, k] = weight
                loss -= np.log(np.float32(1) - weight)
                gain = step.rate * weight
                for f in range(size):
                    new[u, f] = keep * new[u, f] + gain * (items[i, f] - items[j, f])
        kept.losses[pair] = loss


@fast_kernel
def step_items(
    triplets: Any, local: Any, users: Any, sigma: Any, step: Any, new: Any, part: Any, parts: Any
) -> None:
    """d_i += rate (sum_k sigma_k b_u - K reg d_i), d_j += rate (-sigma_k b_u - reg d_j).

    For the items v of `new` (T, d), by their numbers in `local`, with v & (parts - 1) == part, pair
    after pair. users (R, d): those of `local` after their own step.
    """
    count, mask = sigma.shape[1], parts - 1
    table, rate = new.ravel(), step.rate
    for pair in range(len(local.users)):
        prefetch_next(table, new.shape[1], local.positives, local.negatives, pair)
        u, i = local.users[pair], local.positives[pair]
        if i >= 0 and i & mask == part:
            together, drawn = np.float32(0), np.float32(0)
            for k in range(count):
                together += sigma[pair, k]
                drawn += np.float32(triplets.negatives[pair, k] >= 0)
            _move(new, i, users, u, rate * together, rate * step.reg * drawn)
        for k in range(count):
            j = local.negatives[pair, k]
            if j >= 0 and j & mask == part:
                _move(new, j, users, u, -rate * sigma[pair, k], rate * step.reg)


@inlined
def _move(items: Any, v: Any, users: Any, u: Any, gain: Any, shrink: Any) -> None:
    keep = np.float32(1) - shrink
    for f in range(items.shape[1]):
        items[v, f] = keep * items[v, f] + gain * users[u, f]


class BPRConfig(TripletConfig):
    """Settings of BPR."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    learning_rate: float = Field(0.1, gt=0, le=10, description="size of the first epoch's steps")
    decay: float = Field(0.1, ge=0, description="steps shrink as 1 / (1 + decay * epoch)")
    reg: float = Field(0.01, ge=0, description="weight of the squared norms, per triplet")
    negatives: int = Field(8, ge=1, le=1000, description="negatives per positive, each epoch")
    init_scale: float = Field(0.1, gt=0, description="standard deviation of the first vectors")

    def step(self, epoch: int) -> StepSize:
        """The steps of an epoch."""
        rate = self.learning_rate / (1 + self.decay * epoch)
        return StepSize(np.float32(rate), np.float32(self.reg))


class BPR(TripletModel[BPRConfig]):
    """Matrix factorisation with the pairwise logistic loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> vectors = BPR(dimensions=8, epochs=2).fit(train).representation_
    >>> vectors.user_vectors.shape, vectors.item_vectors.shape
    ((2, 8), (2, 8))
    """

    name = "bpr"
    Config = BPRConfig
    triplet_cost = 0.5
    space: ClassVar[Space] = {
        "learning_rate": Float(0.03, 0.15, log=True),
        "reg": Float(0.002, 0.04, log=True),
        "negatives": Int(4, 16, log=True),
        "alpha": POPULARITY,
    }
    learns_vectors = True

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Small normal vectors, users then items, from NumPy's own counter-based Philox."""
        rng = np.random.Generator(np.random.Philox(seed))
        size, scale = self.config.dimensions, np.float32(self.config.init_scale)
        return {
            "user_vectors": scale * rng.standard_normal((train.n_users, size), dtype=np.float32),
            "item_vectors": scale * rng.standard_normal((train.n_items, size), dtype=np.float32),
        }

    def _step_of(self, arrays: Arrays, epoch: int, seed: int, pool: ThreadPool) -> StepOf:
        tables = Factors(arrays["user_vectors"]), Factors(arrays["item_vectors"])
        step = BPRStep(*tables, self.config.step(epoch))
        return lambda block, pairs: step

    def _represent(self, arrays: Arrays) -> Vectors:
        return Vectors(arrays["user_vectors"], arrays["item_vectors"])

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the users' step alone, averaged over the last passes."""
        representation = expect(representation, Vectors)
        return self.fold_in_items(representation.item_vectors, history)

    def fold_in_items(self, item_vectors: Floats, history: npt.NDArray[np.integer]) -> Floats:
        """The same against the items (m, d) of another model."""
        config, items = self.config, Factors(np.ascontiguousarray(item_vectors))
        user = Factors(np.zeros((1, item_vectors.shape[1]), dtype=np.float32))
        passes = fold_in_passes(history, len(item_vectors), config.negatives)
        return fold_in_user(
            passes, user, lambda epoch, now: BPRStep(now, items, config.step(epoch))
        )


class Factors(NamedTuple):
    """Vectors (n, d) of users or items."""

    vectors: Floats


@dataclass(frozen=True, eq=False)
class BPRStep(TripletStep):
    """BPR's step over one block; names as in the kernels."""

    step: StepSize
    reads_other_items: ClassVar[bool] = False

    def keep(self, pairs: int, negatives: int, users: int) -> BPRPairGradients:
        return BPRPairGradients.empty(pairs, negatives)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        step_users(self.users.vectors, self.items.vectors, triplets, self.step, new.vectors, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        users, sigma = result.rows.vectors, result.kept.sigma
        step_items(result.triplets, local, users, sigma, self.step, new.vectors, 0, 1)

    def step_items_in_place(self, results: Sequence[UserResult], part: int, parts: int) -> None:
        users, items = self.users.vectors, self.items.vectors
        for triplets, _, _, kept in results:
            step_items(triplets, triplets, users, kept.sigma, self.step, items, part, parts)


_STEEP_GRADIENT = np.float32(30)


@fast_kernel
def bpr_users(users: Any, items: Any, triplets: Any, share: Any, new: Any, kept: Any) -> None:
    """softplus(-x), x = b_u.(d_i - d_j): b_u's gradient is share sigma(-x) (d_j - d_i).

    kept.losses (P,): the sum of a pair.
    """
    negatives, sigma = triplets.negatives, kept.sigma
    size, count = users.shape[1], negatives.shape[1]
    one = np.float32(1)
    gradient = np.empty(size + 2 * APART, dtype=users.dtype)[APART : APART + size]
    table, row = items.ravel(), -1
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, negatives, pair)
        u, i = triplets.users[pair], triplets.positives[pair]
        if pair == 0 or u != triplets.users[pair - 1]:
            row += 1
            new.counts[row] = np.float32(0)
            for f in range(size):
                new.sums[row, f] = np.float32(0)
        near, loss, together = np.float32(0), np.float32(0), np.float32(0)
        for f in range(size):
            near += users[u, f] * items[i, f]
            gradient[f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            sigma[pair, k] = np.float32(0)
            if j >= 0:
                far = np.float32(0)
                for f in range(size):
                    far += users[u, f] * items[j, f]
                power = np.exp(min(max(far - near, -_STEEP_GRADIENT), _STEEP_GRADIENT))
                loss += np.log(one + power)
                weight = share * power / (one + power)
                sigma[pair, k] = weight
                together += weight
                for f in range(size):
                    gradient[f] += weight * items[j, f]
        kept.losses[pair] = loss
        new.counts[row] += one
        for f in range(size):
            new.sums[row, f] += gradient[f] - together * items[i, f]


@fast_kernel
def bpr_items(users: Any, triplets: Any, local: Any, sigma: Any, new: Any) -> None:
    """d_i's gradient -sigma b_u, d_j's sigma b_u, of the items of `new`, numbered as in `local`."""
    size, count = users.shape[1], local.negatives.shape[1]
    each = np.float32(1) / np.float32(count)
    table = new.sums.ravel()
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, v = triplets.users[pair], local.positives[pair]
        if v >= 0:
            together = np.float32(0)
            for k in range(count):
                together += sigma[pair, k]
            new.counts[v] += np.float32(1)
            for f in range(size):
                new.sums[v, f] -= together * users[u, f]
        for k in range(count):
            v = local.negatives[pair, k]
            if v >= 0:
                weight = sigma[pair, k]
                new.counts[v] += each
                for f in range(size):
                    new.sums[v, f] += weight * users[u, f]


@dataclass(frozen=True, eq=False)
class BPRGradientStep(GradientStep):
    """share: one over the number of the block's triplets."""

    share: np.floating[Any]

    def keep(self, pairs: int, negatives: int, users: int) -> BPRPairGradients:
        return BPRPairGradients.empty(pairs, negatives, self.user_vectors.dtype)

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        bpr_users(self.user_vectors, self.item_vectors, triplets, self.share, new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        bpr_items(self.user_vectors, result.triplets, local, result.kept.sigma, new)
