"""The paper's optimiser: every code in turn minimises the quadratic bound on the loss.

phi = x and eta = y are taken for the triplets of each user and item, at the codes of that moment.
There the bound touches the loss, so a code with a lower bound has a lower loss, too.
`training.loss` has A and c of one row; here they are assembled for many, and a new code's change of
the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.bits import pack_signs
from xorec.core.kernels import fast_kernel
from xorec.training.discrete.bqp.base import Solver
from xorec.training.discrete.bqp.local_search import BatchSolver
from xorec.training.discrete.problem import (
    ITEM,
    USER,
    Floats,
    Problem,
    Rows,
    Signs,
    gather_triplets,
    make_row_triplets,
    most_triplets,
    triplets_loss,
)
from xorec.training.loss import (
    TangentPoints,
    TripletRows,
    assemble_item,
    assemble_user,
)

LOWER = 1e-12  # a share of sum |A| + sum |c|: a value must fall by more


@fast_kernel
def assemble_rows(kind: int, rows: Any, problem: Any, A: Any, c: Any, gains: Any) -> None:
    """A (N, d, d), c (N, d) of the bound on each row's triplets; gains[:, 1]: their loss.

    phi = x and eta = y at the present codes, where the bound touches the loss.
    """
    codes, tables = problem.codes, problem.tables
    capacity = most_triplets(kind, rows, problem.lists)
    triplets, users = make_row_triplets(capacity), np.empty(capacity, np.int32)
    points = TangentPoints(np.empty(capacity), np.empty(capacity), np.ones(capacity))
    of_triplets = TripletRows(users, triplets.q, triplets.p)
    numbers, words = np.arange(capacity), codes.b_words if kind == USER else codes.d_words
    signs, loss = (codes.B, codes.D), (tables.roles, tables.lambda_)
    for at in range(len(rows)):
        first, n = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        gains[at, 1] = triplets_loss(triplets, n, tables)
        for t in range(n):
            points.phi[t], points.eta[t] = tables.x[triplets.X[t]], tables.y[triplets.Y[t]]
            users[t] = triplets.q[t] if t < first else triplets.p[t]
        if kind == USER:
            assemble_user(A[at], c[at], signs, of_triplets, points, numbers[:n], loss)
        else:
            roles = (numbers[:first], numbers[first:n])
            assemble_item(A[at], c[at], signs, of_triplets, points, roles, loss)


@fast_kernel
def keep_lower(A: Any, c: Any, old: Any, Z: Any) -> None:
    """Put the old code back into Z (N, d) wherever the new one is not strictly lower."""
    d = Z.shape[1]
    for at in range(len(Z)):
        change, size = 0.0, 0.0
        for r in range(d):
            new, before = 0.0, 0.0
            for s in range(d):
                new += A[at, r, s] * Z[at, s]
                before += A[at, r, s] * old[at, s]
                size += abs(A[at, r, s])
            change += Z[at, r] * (new + c[at, r]) - old[at, r] * (before + c[at, r])
            size += abs(c[at, r])
        if change >= -LOWER * size:
            for f in range(d):
                Z[at, f] = old[at, f]


@fast_kernel
def changes_of_loss(kind: int, rows: Any, problem: Any, words: Any, gains: Any) -> None:
    """gains[:, 0] = the loss of each row's triplets at its new code in `words`, less gains[:, 1].

    All other codes are the present ones.
    """
    triplets = make_row_triplets(most_triplets(kind, rows, problem.lists))
    for at in range(len(rows)):
        _, n = gather_triplets(kind, rows[at], words, at, problem, triplets)
        gains[at, 0] = triplets_loss(triplets, n, problem.tables) - gains[at, 1]


_AT_ONCE = 16  # problems assembled, then solved: A of 64 bits takes 32 KB


@dataclass(frozen=True)
class Bounds:
    """Proposes the codes at which a solver leaves the bound, started from the present ones."""

    solver: Solver
    seed: int = 0

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """As `sweeps.Proposer`."""
        Z, gains = problem.codes.signs(kind)[rows], np.zeros((len(rows), 2))
        for begin in range(0, len(rows), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            self._solve(problem, kind, rows[part], Z[part], gains[part])
        return Z, gains

    def _solve(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        count, d = Z.shape
        A, c, old = np.empty((count, d, d)), np.empty((count, d)), Z.copy()
        assemble_rows(kind, rows, problem, A, c, gains)
        if isinstance(self.solver, BatchSolver):
            self.solver.solve_many(A, c, Z, self.seed)
        else:
            for at in range(count):
                Z[at] = self.solver.solve(A[at], c[at], Z[at], self.seed).z
        keep_lower(A, c, old, Z)
        if kind == ITEM:
            changes_of_loss(kind, rows, problem, pack_signs(Z), gains)
