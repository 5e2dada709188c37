"""The paper's optimiser: every code in turn minimises the quadratic bound on the loss.

phi = x and eta = y are taken for the triplets of each user and item, at the codes of that moment.
There the bound touches the loss, so a code with a lower bound has a lower loss, too.

A term l(t), t = w.z + s, of weight omega (1 for x, lambda for y) adds to the bound
z'Az + c'z + constant of a user or an item, at the point xi where the bound touches it (phi for x,
eta for y), with p the curvature,

    A += omega p(xi) w w'        c += omega (2 p(xi) s + 1/2) w

The slow twin is `tests/support/references/bound.py: assemble`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.bits import pack_signs
from xorec.core.kernels import fast_helper, fast_kernel, inlined
from xorec.training.discrete.bqp.base import Solver
from xorec.training.discrete.bqp.local_search import BatchSolver
from xorec.training.discrete.problem import (
    AS_NEGATIVE,
    AS_POSITIVE,
    AS_USER,
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
from xorec.training.loss import curvature_of

LOWER = 1e-12  # a share of sum |A| + sum |c|: a value must fall by more
_TOGETHER = 8  # terms added to A at once: A is read and written an eighth as often


@fast_kernel
def assemble_rows(kind: int, rows: Any, problem: Any, A: Any, c: Any, gains: Any) -> None:
    """A (N, d, d), c (N, d) of the bound on each row's triplets; gains[:, 1]: their loss.

    phi = x and eta = y at the present codes, where the bound touches the loss.
    """
    codes, tables = problem.codes, problem.tables
    triplets = make_row_triplets(most_triplets(kind, rows, problem.lists))
    words = codes.b_words if kind == USER else codes.d_words
    for at in range(len(rows)):
        first, n = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        gains[at, 1] = triplets_loss(triplets, n, tables)
        A[at], c[at] = 0.0, 0.0
        if kind == USER:
            _add(A[at], c[at], codes.D, codes.D, triplets, (0, n), tables, AS_USER)
        else:
            _add(A[at], c[at], codes.D, codes.B, triplets, (0, first), tables, AS_POSITIVE)
            _add(A[at], c[at], codes.B, codes.D, triplets, (first, n), tables, AS_NEGATIVE)
        for r in range(A.shape[1]):
            for s in range(r):
                A[at, s, r] = A[at, r, s]


@fast_helper
def _add(
    A: Any, c: Any, p_codes: Any, q_codes: Any, triplets: Any, ends: tuple[int, int], tables: Any,
    role: int,
) -> None:  # fmt: skip
    """Add the terms of the triplets from ends[0] to ends[1] to c and to the lower triangle of A.

    They hold the row in one role. lambda_ = 0: x alone.
    """
    table, size, filled = tables.roles[role], len(c), 0
    parts = 1 if tables.lambda_ == 0 else 2
    w, scale = np.zeros((_TOGETHER, size)), np.zeros(_TOGETHER)
    for t in range(ends[0], ends[1]):
        i, j = triplets.p[t], triplets.q[t]
        product = _dot(p_codes, i, q_codes, j)
        for part in range(parts):
            xi = tables.x[triplets.X[t]] if part == 0 else tables.y[triplets.Y[t]]
            omega = 1.0 if part == 0 else tables.lambda_
            curvature = curvature_of(xi)
            shift = table[part, 2] * product + table[part, 3]
            linear = omega * (2 * curvature * shift + 0.5)
            t0, t1 = table[part, 0], table[part, 1]
            for f in range(size):
                value = t0 * p_codes[i, f] + t1 * q_codes[j, f]
                w[filled, f] = value
                c[f] += linear * value
            scale[filled] = omega * curvature
            filled += 1
        if filled == _TOGETHER:
            _add_squares(A, w, scale)
            filled = 0
    if filled > 0:
        scale[filled:] = 0
        _add_squares(A, w, scale)


@fast_helper
def _add_squares(A: Any, w: Any, scale: Any) -> None:
    """A += sum over 8 rows of scale_k w_k w_k', the lower triangle alone."""
    for r in range(len(A)):
        g0, g1 = scale[0] * w[0, r], scale[1] * w[1, r]
        g2, g3 = scale[2] * w[2, r], scale[3] * w[3, r]
        g4, g5 = scale[4] * w[4, r], scale[5] * w[5, r]
        g6, g7 = scale[6] * w[6, r], scale[7] * w[7, r]
        for s in range(r + 1):
            lower = g0 * w[0, s] + g1 * w[1, s] + g2 * w[2, s] + g3 * w[3, s]
            upper = g4 * w[4, s] + g5 * w[5, s] + g6 * w[6, s] + g7 * w[7, s]
            A[r, s] += lower + upper


@inlined
def _dot(one: Any, row: Any, other: Any, column: Any) -> Any:
    total = np.int32(0)
    for f in range(one.shape[1]):
        total += np.int32(one[row, f]) * np.int32(other[column, f])
    return total


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
