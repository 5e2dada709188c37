"""The paper's optimiser: every code in turn minimises the quadratic bound on the loss.

phi = x and eta = y are taken anew for the triplets of each user and item, at the codes of that
moment. There the bound touches the loss, so a code with a lower bound has a lower loss, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.core.bits import pack_signs
from xorec.core.threads import ThreadPool
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.bqp.base import Solver
from xorec.training.discrete.bqp.batch import BatchSolver
from xorec.training.discrete.bqp_kernels import assemble_rows, keep_lower, losses_of
from xorec.training.discrete.sweep_kernels import ITEM, Signs
from xorec.training.discrete.sweeps import Problem, Rows, SweepResult, Terms, sweep
from xorec.training.losses.scale_invariant import Floats
from xorec.training.passes import Triplets

_AT_ONCE = 16  # problems assembled, then solved: A of 64 bits takes 32 KB


@dataclass(frozen=True)
class Bounds:
    """Proposes the codes at which a solver leaves the bound, started from the present ones."""

    solver: Solver
    seed: int = 0

    def __call__(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        for begin in range(0, len(rows), _AT_ONCE):
            own = slice(begin, begin + _AT_ONCE)
            self._solve(problem, kind, rows[own], Z[own], gains[own])

    def _solve(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        count, d = Z.shape
        A, c, old = np.empty((count, d, d)), np.empty((count, d)), Z.copy()
        data, terms = (problem.codes, problem.lists, problem.tables), problem.terms
        assemble_rows(kind, rows, *data, terms.roles(d), terms.lambda_, A, c, gains)
        if isinstance(self.solver, BatchSolver):
            self.solver.solve_many(A, c, Z, self.seed)
        else:
            for at in range(count):
                Z[at] = self.solver.solve(A[at], c[at], Z[at], self.seed).z
        keep_lower(A, c, old, Z)
        if kind == ITEM:
            losses_of(kind, rows, *data, pack_signs(Z), gains)


def bqp_sweep(
    B: Signs,
    D: Signs,
    triplets: Triplets,
    terms: Terms,
    pool: ThreadPool,
    *,
    solver: str | Solver = "tabu",
    seed: int = 0,
    users: Rows | None = None,
    items: Rows | None = None,
    one_by_one: bool = False,
) -> SweepResult:
    """One sweep of the bound over B (n, d) and D (m, d), codes of +-1 in int8, in place.

    solver: a name of `discrete.bqp.SOLVERS`, or a solver. The rest is as in `flip_sweep`.
    """
    found = make_solver(solver) if isinstance(solver, str) else solver
    problem = Problem.of(B, D, triplets, terms)
    rows = {"users": users, "items": items}
    return sweep(problem, Bounds(found, seed), pool, **rows, one_by_one=one_by_one)
