"""DPR (Zhang, Lian and Yang 2017): codes that rank all a user has before all they lack.

The squared pairwise loss over ALL pairs of an item i of a user's own, I_u, and one j of the rest:

    minimise  sum over u of the mean over i in I_u, j not in I_u of (T - b_u.(d_i - d_j))^2
            - 2 alpha n tr(B'X) - 2 beta n tr(D'Y),

X and Y real, balanced and decorrelated (`discrete.balance`). Nothing is sampled: means and
products of all items are kept (`dpr_kernels`). An epoch makes X and Y anew, then settles every
user, side by side, then every item, one after another, each bit by bit: no step raises
the objective.
"""

from __future__ import annotations

from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from pydantic import Field
from threadpoolctl import threadpool_limits

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model
from xorec.models.hashing.coordinate_kernels import Numbers
from xorec.models.hashing.dpr_kernels import settle_users
from xorec.models.hashing.dpr_steps import Rule, Steps, products, sums
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig
from xorec.training.discrete.balance import balanced
from xorec.training.epochs import EpochTrainer
from xorec.training.space import Float, Space

Signs = npt.NDArray[np.int8]
_REAL = Rule(1.0, 0.0, 0.0, ridge=1e-6, real=True, passes=2)
"""How real rows are settled: T is 1, nothing pulls (measured: X and Y spoil the start)."""


class DPRConfig(EpochConfig):
    """Settings of DPR."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    target: float = Field(
        1.4, gt=0, le=8, description="T over the bits; 2 in the paper, 1 in its released code"
    )
    alpha: float = Field(2e-6, ge=0, description="pull of balanced user codes, times the users")
    beta: float = Field(1e-5, ge=0, description="pull of balanced item codes, times the users")
    start_rounds: int = Field(
        10, ge=0, le=100, description="rounds with real numbers before signs; 0: random signs"
    )
    passes: int = Field(5, ge=1, le=100, description="passes over the bits of a code, at most")
    epochs: int = Field(8, ge=1, description="sweeps over all users and all items, at most")
    patience: int = Field(2, ge=1, description="validations without gain before it stops")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")

    def rule(self, users: int) -> Rule:
        """How codes are settled where there are so many users."""
        pull = (self.alpha * users, self.beta * users)
        return Rule(self.target * self.bits, *pull, passes=self.passes)


class DPR(Model[DPRConfig]):
    """Codes by the squared pairwise loss over all pairs, nothing sampled."""

    name = "dpr"
    Config = DPRConfig
    space: ClassVar[Space] = {
        "target": Float(0.8, 2.2, log=True),
        "alpha": Float(2e-7, 2e-5, log=True),
        "beta": Float(1e-6, 1e-4, log=True),
    }
    cost = 1.0

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer, seed = EpochTrainer(self, train, validation, options), options.seed
        rule = self.config.rule(train.n_users)
        with options.thread_pool() as pool, threadpool_limits(1, user_api="blas"):
            steps = Steps.of(train, pool)

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                B, D = arrays["users"], arrays["items"]
                before = (B.copy(), D.copy())
                X, Y = balanced(B, seed), balanced(D, seed)
                steps.users(B, D, X, rule)
                steps.items(B, D, Y, rule)
                return {
                    "loss": steps.loss(B, D, rule.target) / (train.n_users * rule.target**2),
                    "user_flips": float(np.mean(before[0] != B)),
                    "item_flips": float(np.mean(before[1] != D)),
                }

            state = trainer.run(self._start(steps, seed), step, _codes)
        return _codes(state.arrays)

    def _start(self, steps: Steps, seed: int) -> Arrays:
        """Signs of normal rows, after some rounds of the same objective over real rows."""
        train, bits = steps.train, self.config.bits
        rng = np.random.Generator(np.random.Philox(seed))
        B = rng.standard_normal((train.n_users, bits), dtype=np.float32)
        D = rng.standard_normal((train.n_items, bits), dtype=np.float32)
        for _ in range(self.config.start_rounds):
            steps.users(B, D, B, _REAL)
            steps.items(B, D, D, _REAL)
        return {"users": _signs(B), "items": _signs(D)}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: the user's own problem, from nothing; X has no row for them."""
        assert isinstance(representation, Codes)
        items, total, gram = _item_sums(representation)
        own, user = np.unique(history).astype(np.int32), np.zeros((1, representation.bits), np.int8)
        rows, none = (np.zeros(1, np.int64), np.array([0, len(own)])), np.zeros(user.shape)
        rule = self.config.rule(representation.n_users)
        how = (rule.target, rule.ridge, rule.real, rule.passes)
        settle_users(*rows, own, items, total, gram, none, *how, user)
        return pack_signs(user)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """New users by the items that were there, new items by all users, then changed users."""
        assert isinstance(representation, Codes)
        train, bits = update.train, representation.bits
        B = np.zeros((train.n_users, bits), dtype=np.int8)  # 0: nothing known yet
        D = np.zeros((train.n_items, bits), dtype=np.int8)
        B[: representation.n_users] = unpack_signs(representation.user_codes, bits)
        D[: representation.n_items] = unpack_signs(representation.item_codes, bits)
        steps, rule = Steps.of(train, ThreadPool(1)), self.config.rule(train.n_users)
        late = update.users[update.users >= representation.n_users]
        with threadpool_limits(1, user_api="blas"):
            steps.users(B, D, np.zeros((len(late), bits)), rule, late)
            steps.items(B, D, np.zeros((len(update.items), bits)), rule, update.items)
            steps.users(B, D, np.zeros((len(update.users), bits)), rule, update.users)
        return Codes.from_signs(B, D)


_KNOWN: WeakKeyDictionary[Codes, tuple[Signs, Numbers, Numbers]] = WeakKeyDictionary()


def _item_sums(codes: Codes) -> tuple[Signs, Numbers, Numbers]:
    """The items' signs, their sum and their products: once for all who are folded in."""
    if codes not in _KNOWN:
        items = unpack_signs(codes.item_codes, codes.bits)
        _KNOWN[codes] = (items, sums(items), products(items))
    return _KNOWN[codes]


def _signs(rows: npt.NDArray[Any]) -> Signs:
    return np.where(rows >= 0, 1, -1).astype(np.int8)


def _codes(arrays: Arrays) -> Codes:
    return Codes.from_signs(arrays["users"], arrays["items"])
