"""The paper's optimiser: every code in turn minimises the quadratic bound on the loss.

phi = x and eta = y are taken anew for the triplets of each user and item, at the codes of that
moment. There the bound touches the loss, so a code with a lower bound has a lower loss, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.core.bits import pack_signs
from xorec.training.discrete.bqp.base import Solver
from xorec.training.discrete.bqp.local_search import BatchSolver
from xorec.training.discrete.bqp_kernels import assemble_rows, changes_of_loss, keep_lower
from xorec.training.discrete.problem import Floats, Problem, Rows, Signs
from xorec.training.discrete.triplet_kernels import ITEM

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
