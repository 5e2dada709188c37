"""DPR (Zhang, Lian and Yang 2017): codes that rank all a user has before all they lack.

The squared pairwise loss over ALL pairs of an item i in I_u, which the user has, and one j of the
rest:

    minimise  sum over u of the mean over i in I_u, j not in I_u of (T - b_u.(d_i - d_j))^2
            - 2 alpha n tr(B'X) - 2 beta n tr(D'Y),

X and Y real, balanced and decorrelated (`discrete.balance`). Nothing is sampled: means and
products of all items are kept. An epoch makes X and Y, then solves for every
user, side by side, then every item, one after another, each bit by bit: no step raises
the objective.

The same steps work on codes (int8) and on real rows (float32). BLAS must have one thread
(`one_blas_thread`): its sums then have one order. Each row's problem goes to
`coordinate_kernels`. Users: scale base = D'D / (m - |I_u|), y_i = the items that they have, p and q
the means of those and of all others. Items: base = the sum over u of b_u b_u' / (m - |I_u|), y_i =
the users who have it. Everywhere: pairs (indptr, indices), those of row r are
indices[indptr[r]:indptr[r + 1]].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.kernels import fast_helper, fast_kernel, kernel
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, EpochModel, expect
from xorec.models.hashing.coordinate_kernels import (
    Numbers,
    coordinate_descent,
    make_row_problem,
    pair_rows,
)
from xorec.models.new_rows import codes_of, once_for_each, signs_of, solve_new_rows, with_room
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.training.config import EpochConfig, Float, Space
from xorec.training.discrete.balance import balanced
from xorec.training.epochs import Arrays


class Rule(NamedTuple):
    """How a row is solved.

    target: T; users, items: alpha n and beta n, the pull of X and Y; real: numbers, not signs;
    ridge: the weight of a real row's squared norm; passes: over a row's bits, at most.
    """

    target: float
    users: float
    items: float
    ridge: float = 0.0
    real: bool = False
    passes: int = 5


class ItemSums(NamedTuple):
    """What a user's problem needs of the items: D (m, d), the sum of its rows (d,), and D'D."""

    D: npt.NDArray[Any]
    total: Numbers
    gram: Numbers


class UserSums(NamedTuple):
    """What an item's problem needs of the users: B (n, d), and base = the sum of rest_u b_u b_u'.

    mine, rest (n,): 1 / |I_u| and 1 / (m - |I_u|); 0 for who has no item, or all.
    """

    B: npt.NDArray[Any]
    mine: Numbers
    rest: Numbers
    base: Numbers


class Running(NamedTuple):
    """Kept up to date as items move.

    means (n,): b_u.p_u; total (d,): the sum of all items; pairs (d,): the sum over all users of
    rest_u (target - means_u) b_u.
    """

    means: Numbers
    total: Numbers
    pairs: Numbers


@kernel
def _most(rows: Any, indptr: Any) -> int:
    """The most pairs that a row has, and at least 1."""
    most = 1
    for row in rows:
        most = max(most, indptr[row + 1] - indptr[row])
    return most


@fast_kernel
def solve_users(
    rows: Any, pairs: Any, items: Any, pull: Any, rule: Any, B: Any, found: Any
) -> None:
    """The new codes, or real rows, found (rows, d) of the users `rows` of B (n, d).

    pull (rows, d): alpha n x_u. With the means p of a user's items and q of all others:
    l = target (q - p) - pull.
    """
    indptr, indices = pairs
    m, size = items.D.shape
    s = make_row_problem(_most(rows, indptr), size)
    for at in range(len(rows)):
        u = rows[at]
        begin, count = indptr[u], indptr[u + 1] - indptr[u]
        if count == 0 or count == m:
            for f in range(size):
                found[at, f] = B[u, f]
            continue
        mine, rest, y = 1.0 / count, 1.0 / (m - count), pair_rows(s, count)
        for i in range(count):
            item = indices[begin + i]
            s.weights[i] = mine - rest
            for f in range(size):
                y[f, i] = items.D[item, f]
        for f in range(size):
            together = 0.0
            for i in range(count):
                together += y[f, i]
            s.p[f], s.q[f] = mine * together, rest * (items.total[f] - together)
            s.linear[f] = rule.target * (s.q[f] - s.p[f]) - pull[at, f]
            s.z[f] = B[u, f]
        coordinate_descent(s, y, count, items.gram, rest, rule.ridge, rule.real, rule.passes)
        for f in range(size):
            found[at, f] = s.z[f]


@fast_kernel
def solve_items(
    rows: Any, pairs: Any, users: Any, running: Any, pull: Any, rule: Any, D: Any, found: Any
) -> None:
    """The same of the items `rows` of D (m, d), one after another; pull (rows, d): beta n y_v."""
    indptr, indices = pairs
    size = D.shape[1]
    s = make_row_problem(_most(rows, indptr), size)
    for at in range(len(rows)):
        v = rows[at]
        owners = indices[indptr[v] : indptr[v + 1]]
        count = len(owners)
        y = pair_rows(s, count)
        for f in range(size):
            s.z[f] = D[v, f]
            s.linear[f] = running.pairs[f] - pull[at, f]
        for i in range(count):
            u = owners[i]
            mine, rest, mean = users.mine[u], users.rest[u], running.means[u]
            every = 0.0
            for f in range(size):
                y[f, i] = users.B[u, f]
                every += users.B[u, f] * running.total[f]
            s.weights[i] = mine - rest
            others = rest * (every - mean / mine) if mine > 0.0 else 0.0
            s.v[i] = rest * (rule.target - mean) + mine * (rule.target + others)
        for f in range(size):
            part = 0.0
            for i in range(count):
                part += s.v[i] * y[f, i]
            s.linear[f] -= part
        coordinate_descent(s, y, count, users.base, 1.0, rule.ridge, rule.real, rule.passes)
        _move(s, y, owners, users, running, D[v], found[at])


@fast_helper
def _move(s: Any, y: Any, owners: Any, users: Any, running: Any, old: Any, new: Any) -> None:
    """Write the item's row s.z to `new` (d,), and bring `running` up to date."""
    count = len(owners)
    for i in range(count):
        s.v[i] = 0.0
    for f in range(len(s.z)):
        new[f] = s.z[f]
        step = s.z[f] - old[f]
        if step != 0.0:
            running.total[f] += step
            for i in range(count):
                s.v[i] += step * y[f, i]
    for i in range(count):
        u = owners[i]
        step = users.mine[u] * s.v[i]
        running.means[u] += step
        s.v[i] = users.rest[u] * step
    for f in range(len(s.z)):
        part = 0.0
        for i in range(count):
            part += s.v[i] * y[f, i]
        running.pairs[f] -= part


@fast_kernel
def measure_users(
    begin: int, end: int, pairs: Any, B: Any, items: Any, target: float, means: Any, losses: Any
) -> None:
    """means[u] = b_u.p_u, and losses[u] = the mean of (target - b_u.(d_i - d_j))^2 over its pairs.

    0 for a user who has no item, or all.
    """
    indptr, indices = pairs
    m, size = items.D.shape
    for u in range(begin, end):
        count = indptr[u + 1] - indptr[u]
        means[u], losses[u] = 0.0, 0.0
        if count == 0 or count == m:
            continue
        mine, squares = 0.0, 0.0
        for at in range(indptr[u], indptr[u + 1]):
            item, dot = indices[at], 0.0
            for f in range(size):
                dot += np.float64(B[u, f]) * np.float64(items.D[item, f])
            mine += dot
            squares += dot * dot
        every, spread = 0.0, 0.0
        for f in range(size):
            every += B[u, f] * items.total[f]
            part = 0.0
            for g in range(size):
                part += items.gram[f, g] * B[u, g]
            spread += B[u, f] * part
        p, q = mine / count, (every - mine) / (m - count)
        second = squares / count + (spread - squares) / (m - count) - 2.0 * p * q
        means[u], losses[u] = p, target * target - 2.0 * target * (p - q) + second


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
        users = UserSums(B, self.mine, self.rest, products(B, self.rest))
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


def item_sums(D: Matrix) -> ItemSums:
    """What the users' problems need of the items D (m, d)."""
    return ItemSums(D, sums(D), products(D))


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
        description="margin by which a user's items should win, relative to the code's length (T "
        "/ bits); paper: 2, released code: 1",
    )
    alpha: float = Field(
        2e-6, ge=0, description="weight of balanced, decorrelated user codes, a user"
    )
    beta: float = Field(
        1e-5, ge=0, description="weight of balanced, decorrelated item codes, a user"
    )
    start_rounds: int = Field(
        10,
        ge=0,
        le=100,
        description="sweeps over real rows whose signs start the codes; 0: at random",
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


class DPR(EpochModel[DPRConfig]):
    """Codes by the squared pairwise loss over all pairs, nothing sampled.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> DPR(bits=8, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "dpr"
    Config = DPRConfig
    triplet_cost = 10.0
    space: ClassVar[Space] = {
        "target": Float(0.8, 2.2, log=True),
        "alpha": Float(2e-7, 2e-5, log=True),
        "beta": Float(1e-6, 1e-4, log=True),
    }
    cost = 1.0

    def _epochs(self, train: Interactions, options: RunOptions, pool: ThreadPool) -> Any:
        steps, rule, seed = Steps.of(train, pool), self.config.rule(train.n_users), options.seed

        def sweep(epoch: int, arrays: Arrays) -> dict[str, float]:
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

        return self._start(steps, seed), sweep, codes_of

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
        with one_blas_thread():
            solve_new_rows(
                update,
                representation.n_users,
                lambda rows: steps.users(B, D, np.zeros((len(rows), bits)), rule, rows),
                lambda rows: steps.items(B, D, np.zeros((len(rows), bits)), rule, rows),
            )
        return Codes.from_signs(B, D)


@once_for_each
def _item_sums(codes: Codes) -> ItemSums:
    return item_sums(unpack_signs(codes.item_codes, codes.bits))
