"""DPR (Zhang, Lian and Yang 2017): codes that rank all a user has before all they lack.

The squared pairwise loss over ALL pairs of an item i in I_u, which the user has, and one j of the
rest:

    minimise  sum over u of the mean over i in I_u, j not in I_u of (T - b_u.(d_i - d_j))^2
            - 2 alpha n tr(B'X) - 2 beta n tr(D'Y),

X and Y real, balanced and decorrelated (`discrete.balance`). Nothing is sampled: means and
products of all items are kept (`dpr_kernels`). An epoch makes X and Y anew, then solves for every
user, side by side, then every item, one after another, each bit by bit: no step raises
the objective.

DPR's two steps over all users or items, for codes (int8) and for real rows (float32).

BLAS must have one thread (`threadpool_limits`): its sums then have one order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field
from threadpoolctl import threadpool_limits

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.hashing.coordinate_kernels import Numbers
from xorec.models.hashing.dpr_kernels import (
    Items,
    Rule,
    Running,
    Users,
    measure_users,
    solve_items,
    solve_users,
)
from xorec.models.late_rows import once_for_each, signs_of, solve_late_rows, with_room
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.training.checkpoint import Arrays
from xorec.training.config import EpochConfig, Float, Space
from xorec.training.discrete.balance import balanced
from xorec.training.epochs import EpochTrainer

_CHUNK = 4096
"""Rows in one product: sums have one fixed order."""
_PIECES = 16
"""Pieces of work for each thread: users differ much in their number of items."""

Rows = npt.NDArray[np.integer]
Matrix = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Steps:
    """The pairs of `train` by user and by item, and what the objective weighs them with.

    mine, rest (n,): 1 / |I_u| and 1 / (m - |I_u|); 0 for who has no item, or all.
    """

    train: Interactions
    mine: Numbers
    rest: Numbers
    pool: ThreadPool

    @classmethod
    def of(cls, train: Interactions, pool: ThreadPool) -> Steps:
        counts, m = train.user_counts.astype(np.float64), train.n_items
        active = (counts > 0) & (counts < m)
        mine, rest = np.maximum(counts, 1), np.maximum(m - counts, 1)
        return cls(train, np.where(active, 1 / mine, 0), np.where(active, 1 / rest, 0), pool)

    def users(self, B: Matrix, D: Matrix, X: Matrix, rule: Rule, rows: Rows | None = None) -> None:
        """Solve `rows` (or all) of B (n, d), D (m, d) fixed. X: a row for each that is solved."""
        chosen = np.arange(len(B)) if rows is None else np.asarray(rows, dtype=np.int64)
        found = np.empty((len(chosen), B.shape[1]), dtype=B.dtype)
        pull, items = rule.users * X.astype(np.float64), item_sums(D)
        pairs = (self.train.indptr, self.train.indices)

        def work(begin: int, end: int) -> None:
            part = slice(begin, end)
            solve_users(chosen[part], pairs, items, pull[part], rule, B, found[part])

        self.pool.map_ranges(len(chosen), work, _PIECES)
        B[chosen] = found

    def items(self, B: Matrix, D: Matrix, Y: Matrix, rule: Rule, rows: Rows | None = None) -> None:
        """Solve `rows` (or all) of D (m, d) one after another, B (n, d) fixed."""
        chosen = np.arange(len(D)) if rows is None else np.asarray(rows, dtype=np.int64)
        found = np.empty((len(chosen), D.shape[1]), dtype=D.dtype)
        means, _ = self._measure(B, D, rule.target)
        users = Users(B, self.mine, self.rest, products(B, self.rest))
        running = Running(means, sums(D), sums(B, self.rest * (rule.target - means)))
        pull = rule.items * Y.astype(np.float64)
        solve_items(chosen, self.train.by_item, users, running, pull, rule, D, found)
        D[chosen] = found

    def loss(self, B: Matrix, D: Matrix, target: float) -> float:
        """The objective without the pull of X and Y: the sum of the users' mean squares."""
        return float(self._measure(B, D, target)[1].sum())

    def _measure(self, B: Matrix, D: Matrix, target: float) -> tuple[Numbers, Numbers]:
        means, losses, items = np.empty(len(B)), np.empty(len(B)), item_sums(D)
        pairs = (self.train.indptr, self.train.indices)

        def work(begin: int, end: int) -> None:
            measure_users(begin, end, pairs, B, items, target, means, losses)

        self.pool.map_ranges(len(B), work, _PIECES)
        return means, losses


def item_sums(D: Matrix) -> Items:
    """What the users' problems need of the items D (m, d)."""
    return Items(D, sums(D), products(D))


def sums(rows: Matrix, weights: Numbers | None = None) -> Numbers:
    """The sum of the (weighted) rows, (d,)."""
    total = np.zeros(rows.shape[1])
    for begin in range(0, len(rows), _CHUNK):
        part = rows[begin : begin + _CHUNK].astype(np.float64)
        weight = np.ones(len(part)) if weights is None else weights[begin : begin + _CHUNK]
        total += weight @ part
    return total


def products(rows: Matrix, weights: Numbers | None = None) -> Numbers:
    """The sum of the (weighted) products of each row with itself, (d, d)."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for begin in range(0, len(rows), _CHUNK):
        part = rows[begin : begin + _CHUNK].astype(np.float64)
        weight = 1.0 if weights is None else weights[begin : begin + _CHUNK, None]
        total += part.T @ (part * weight)
    return total


_REAL = Rule(1.0, 0.0, 0.0, ridge=1e-6, real=True, passes=2)
"""How real rows are solved: T is 1, nothing pulls (measured: X and Y spoil the start)."""


class DPRConfig(EpochConfig):
    """Settings of DPR."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    target: float = Field(
        1.4,
        gt=0,
        le=8,
        description="margin by which a user's items should win, in bits of difference over the "
        "code's length (T / bits); 2 in the paper, 1 in its released code",
    )
    alpha: float = Field(
        2e-6, ge=0, description="weight of balanced, decorrelated user codes, per user"
    )
    beta: float = Field(
        1e-5, ge=0, description="weight of balanced, decorrelated item codes, per user"
    )
    start_rounds: int = Field(
        10,
        ge=0,
        le=100,
        description="sweeps over real-valued rows whose signs the codes start from; 0: at random",
    )
    passes: int = Field(
        5, ge=1, le=100, description="coordinate-descent passes over the bits of a code, at most"
    )
    epochs: int = Field(8, ge=1, description="sweeps over all users and all items, at most")
    patience: int = Field(2, ge=1, description="validations without gain before it stops")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")

    def rule(self, users: int) -> Rule:
        """How codes are solved where there are so many users."""
        pull = (self.alpha * users, self.beta * users)
        return Rule(self.target * self.bits, *pull, passes=self.passes)


class DPR(Model[DPRConfig]):
    """Codes by the squared pairwise loss over all pairs, nothing sampled.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> DPR(bits=8, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

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
        with options.thread_pool() as pool:
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
        return {"users": signs_of(B), "items": signs_of(D)}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: the user's own problem, from nothing; X has no row for them."""
        representation = expect(representation, Codes)
        items = np.unique(history).astype(np.int32)
        pairs, user = (np.array([0, len(items)]), items), np.zeros(1, np.int64)
        start, code = np.zeros((2, 1, representation.bits), np.int8)
        rule, pull = self.config.rule(representation.n_users), np.zeros(start.shape)
        solve_users(user, pairs, _item_sums(representation), pull, rule, start, code)
        return pack_signs(code)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update` by their own problems, without X and Y."""
        representation = expect(representation, Codes)
        train, bits = update.train, representation.bits
        B = with_room(unpack_signs(representation.user_codes, bits), train.n_users)
        D = with_room(unpack_signs(representation.item_codes, bits), train.n_items)
        steps, rule = Steps.of(train, ThreadPool(1)), self.config.rule(train.n_users)
        with threadpool_limits(1, user_api="blas"):
            solve_late_rows(
                update,
                representation.n_users,
                lambda rows: steps.users(B, D, np.zeros((len(rows), bits)), rule, rows),
                lambda rows: steps.items(B, D, np.zeros((len(rows), bits)), rule, rows),
            )
        return Codes.from_signs(B, D)


@once_for_each
def _item_sums(codes: Codes) -> Items:
    return item_sums(unpack_signs(codes.item_codes, codes.bits))


def _codes(arrays: Arrays) -> Codes:
    return Codes.from_signs(arrays["users"], arrays["items"])
