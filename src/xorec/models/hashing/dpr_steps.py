"""DPR's two steps over all users or items, for codes (int8) and for real rows (float32).

BLAS must have one thread (`threadpool_limits`): its sums then have one order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
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
