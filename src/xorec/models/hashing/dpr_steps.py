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
from xorec.models.hashing.dpr_kernels import losses_of, settle_items, settle_users

_CHUNK = 4096
"""Rows in one product: sums have one fixed order."""
_PIECES = 16
"""Pieces of work for each thread: users differ much in their number of items."""

Rows = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Rule:
    """How a row is settled.

    target: T; users, items: alpha n and beta n, the pull of X and Y; real: numbers, not signs;
    ridge: the weight of a real row's squared norm; passes: over a row's bits, at most.
    """

    target: float
    users: float
    items: float
    ridge: float = 0.0
    real: bool = False
    passes: int = 5


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

    def users(
        self,
        B: npt.NDArray[Any],
        D: npt.NDArray[Any],
        X: npt.NDArray[Any],
        rule: Rule,
        rows: Rows | None = None,
    ) -> None:
        """Settle `rows` (or all) of B (n, d), D (m, d) fixed. X: a row for each that is settled."""
        chosen = np.arange(len(B)) if rows is None else np.asarray(rows, dtype=np.int64)
        pairs = (self.train.indptr, self.train.indices)
        total, gram, pull = sums(D), products(D), rule.users * X.astype(np.float64)
        how = (rule.target, rule.ridge, rule.real, rule.passes)

        def work(begin: int, end: int) -> None:
            own = slice(begin, end)
            settle_users(chosen[own], *pairs, D, total, gram, pull[own], *how, B)

        self.pool.map_ranges(len(chosen), work, _PIECES)

    def items(
        self,
        B: npt.NDArray[Any],
        D: npt.NDArray[Any],
        Y: npt.NDArray[Any],
        rule: Rule,
        rows: Rows | None = None,
    ) -> None:
        """Settle `rows` (or all) of D (m, d) one after another, B (n, d) fixed."""
        chosen = np.arange(len(D)) if rows is None else np.asarray(rows, dtype=np.int64)
        means, _ = self._measure(B, D, rule.target)
        base, pull = products(B, self.rest), rule.items * Y.astype(np.float64)
        pairs = sums(B, self.rest * (rule.target - means))
        weights = (self.mine, self.rest, means, sums(D), base, pairs, pull)
        how = (rule.target, rule.ridge, rule.real, rule.passes)
        settle_items(chosen, *self.train.by_item, B, *weights, *how, D)

    def loss(self, B: npt.NDArray[Any], D: npt.NDArray[Any], target: float) -> float:
        """The objective without the pull of X and Y: the sum of the users' mean squares."""
        return float(self._measure(B, D, target)[1].sum())

    def _measure(
        self, B: npt.NDArray[Any], D: npt.NDArray[Any], target: float
    ) -> tuple[Numbers, Numbers]:
        means, losses = np.empty(len(B)), np.empty(len(B))
        pairs, own = (self.train.indptr, self.train.indices), (sums(D), products(D))

        def work(begin: int, end: int) -> None:
            losses_of(begin, end, *pairs, B, D, *own, target, means, losses)

        self.pool.map_ranges(len(B), work, _PIECES)
        return means, losses


def sums(rows: npt.NDArray[Any], weights: Numbers | None = None) -> Numbers:
    """The sum of the (weighted) rows, (d,)."""
    total = np.zeros(rows.shape[1])
    for begin in range(0, len(rows), _CHUNK):
        part = rows[begin : begin + _CHUNK].astype(np.float64)
        own = np.ones(len(part)) if weights is None else weights[begin : begin + _CHUNK]
        total += own @ part
    return total


def products(rows: npt.NDArray[Any], weights: Numbers | None = None) -> Numbers:
    """The sum of the (weighted) products of each row with itself, (d, d)."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for begin in range(0, len(rows), _CHUNK):
        part = rows[begin : begin + _CHUNK].astype(np.float64)
        own = 1.0 if weights is None else weights[begin : begin + _CHUNK, None]
        total += part.T @ (part * own)
    return total
