"""DRMF's loss and solvers for the sweeps, and which triplets are easy enough yet.

The kernels of DRMF: self-paced weights, and descent on the bound without writing A out.

The bound of `losses.bound` on the triplets of one user or item, for x = scale b_u.(d_j - d_i)
alone: with p = curvature at the present x and w, s of `losses.bound`, A is the sum of p w w' and
half of c the sum of (p s + 1/4) w. For an item w is +-scale b_u: all triplets of a pair are one
row of `coordinate_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs
from xorec.core.kernels import fast_helper, fast_kernel, inlined
from xorec.core.threads import ThreadPool
from xorec.models.hashing.coordinate_kernels import coordinate_descent, make_row_problem, pair_rows
from xorec.training.discrete.bounds import Bounds
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.bqp_kernels import changes_of_loss
from xorec.training.discrete.problem import Floats, Problem, Rows, Signs, make_problem
from xorec.training.discrete.sweeps import Proposer
from xorec.training.discrete.triplet_kernels import (
    ITEM,
    USER,
    gather_triplets,
    hamming_distance,
    make_row_triplets,
    most_triplets,
    triplet_loss,
    triplets_loss,
)
from xorec.training.losses.bound import curvature_of
from xorec.training.passes import Triplets


@fast_kernel
def drop_hard_triplets(
    problem: Any, pace: float, begin: int, end: int, negatives: Any
) -> tuple[int, int]:
    """Write -1 to negatives (P, K) where the triplet's loss is not below `pace`.

    For the pairs [begin, end); returns how many triplets stay, and how many there were.
    """
    codes, lists, easy, there = problem.codes, problem.lists, 0, 0
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    for pair in range(begin, end):
        u, i = lists.users[pair], lists.positives[pair]
        for k in range(lists.negatives.shape[1]):
            j = lists.negatives[pair, k]
            if j >= 0:
                there += 1
                if triplet_loss(problem.tables, d, b, u, e, i, e, j) < pace:
                    easy += 1
                else:
                    negatives[pair, k] = -1
    return easy, there


@fast_kernel
def descend_rows(kind: int, rows: Any, problem: Any, passes: int, Z: Any, gains: Any) -> None:
    """Coordinate descent on the bound from the present codes Z (N, d) of `rows`, in place.

    gains[:, 1]: the loss of each row's triplets at the present codes, where the bound is tight.
    """
    codes, tables = problem.codes, problem.tables
    d, most = Z.shape[1], most_triplets(kind, rows, problem.lists)
    triplets, none = make_row_triplets(most), np.zeros((d, d))
    s, scale = make_row_problem(max(1, most), d), tables.roles[0, 0, 0]
    curvatures = np.empty(len(tables.x))
    for place in range(len(curvatures)):
        curvatures[place] = curvature_of(tables.x[place])
    words = codes.b_words if kind == USER else codes.d_words
    for at in range(len(rows)):
        ends = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        n = ends[1]
        gains[at, 1] = triplets_loss(triplets, n, tables)
        if n == 0:
            continue
        y = pair_rows(s, n)
        for f in range(d):
            s.z[f] = Z[at, f]
        if kind == USER:
            count = _user_rows(s, y, triplets, n, codes.D, curvatures, scale)
        else:
            count = _item_rows(s, y, triplets, ends, rows[at], problem, curvatures, scale)
        for f in range(d):
            total = 0.0
            for i in range(count):
                total += s.v[i] * y[f, i]
            s.linear[f] = total
        coordinate_descent(s, y, count, none, 0.0, 0.0, False, passes)
        for f in range(d):
            Z[at, f] = s.z[f]


@fast_helper
def _user_rows(s: Any, y: Any, triplets: Any, n: int, D: Any, curvatures: Any, scale: float) -> int:
    """Rows d_j - d_i, one a triplet; s.v: what each adds to half of c."""
    for t in range(n):
        j, i = triplets.p[t], triplets.q[t]
        s.weights[t] = scale * scale * curvatures[triplets.X[t]]
        s.v[t] = 0.25 * scale
        for f in range(len(s.z)):
            y[f, t] = D[j, f] - D[i, f]
    return n


@fast_helper
def _item_rows(
    s: Any, y: Any, triplets: Any, ends: tuple[int, int], item: int, problem: Any,
    curvatures: Any, scale: float,
) -> int:  # fmt: skip
    """Rows b_u, one a pair in the role of the positive, one a triplet in the other."""
    codes, x_at = problem.codes, problem.tables.x
    d, count, last = len(s.z), -1, -1
    for t in range(ends[1]):
        positive = t < ends[0]
        u = triplets.q[t] if positive else triplets.p[t]
        if not positive or u != last:
            count, last = count + 1, u
            s.weights[count], s.v[count] = 0.0, 0.0
            _copy(codes.B, u, y, count)
            dot = scale * (d - 2 * hamming_distance(codes.b_words, u, codes.d_words, item))
        x, curvature = x_at[triplets.X[t]], curvatures[triplets.X[t]]
        s.weights[count] += scale * scale * curvature
        if positive:
            s.v[count] -= scale * (curvature * (x + dot) + 0.25)
        else:
            s.v[count] += scale * (curvature * (x - dot) + 0.25)
    return count + 1


@inlined
def _copy(codes: Any, row: Any, y: Any, column: Any) -> None:
    for f in range(codes.shape[1]):
        y[f, column] = codes[row, f]


_PAIRS_AT_ONCE = 8192
_PASSES = 10


@dataclass(frozen=True)
class PairTerms:
    """l(x) alone, x = scale b_u.(d_j - d_i): DSIML's loss with lambda = 0 and another scale.

    scale = 1 / (2 bits) is DSIML's own, 1 is DRMF's.
    """

    scale: float
    lambda_: float = 0.0

    def roles(self, bits: int) -> Floats:
        """The coefficients of x in each role; y has none (`losses.bound.role_tables`)."""
        at, none = self.scale, [0.0] * 4
        return np.array([[[at, -at, 0, 0], none], [[0, -at, at, 0], none], [[at, 0, -at, 0], none]])


@dataclass(frozen=True)
class Descents:
    """Proposes the codes at which coordinate descent leaves the bound, A not written out.

    The problems are those of `training.discrete.bounds.Bounds`, solved bit after bit.
    """

    passes: int = _PASSES

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """As `sweeps.Proposer`, of a loss without the term y."""
        assert problem.tables.lambda_ == 0
        Z, gains = problem.codes.signs(kind)[rows], np.zeros((len(rows), 2))
        descend_rows(kind, rows, problem, self.passes, Z, gains)
        if kind == ITEM:
            changes_of_loss(kind, rows, problem, pack_signs(Z), gains)
        return Z, gains


def proposer_of(solver: str) -> Proposer:
    """What finds new codes: descent without A, or a solver of `discrete.bqp` with it."""
    return Descents() if solver == "descent" else Bounds(make_solver(solver))


def easy_triplets(
    B: Signs, D: Signs, triplets: Triplets, terms: PairTerms, pace: float, pool: ThreadPool
) -> tuple[Triplets, float]:
    """The triplets whose loss is below `pace`, and their share: the weights of self-paced learning.

    The negative of the others becomes -1: a triplet of weight 0 is one that is not there.
    """
    problem = make_problem(B, D, triplets, terms, items=False)
    negatives = triplets.negatives.copy()
    pairs = len(negatives)
    counts: npt.NDArray[np.int64] = np.zeros((-(-pairs // _PAIRS_AT_ONCE), 2), dtype=np.int64)

    def work(piece: int) -> None:
        begin = piece * _PAIRS_AT_ONCE
        end = min(pairs, begin + _PAIRS_AT_ONCE)
        counts[piece] = drop_hard_triplets(problem, pace, begin, end, negatives)

    pool.map(len(counts), work)
    easy, there = counts.sum(axis=0)
    return Triplets(triplets.users, triplets.positives, negatives), float(easy / max(1, there))
