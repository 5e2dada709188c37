"""DRMF's loss and solvers for the sweeps, and which triplets are easy enough yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs
from xorec.core.threads import ThreadPool
from xorec.models.hashing.drmf_kernels import descend_rows, drop_hard_triplets
from xorec.training.discrete.bounds import Bounds
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.bqp_kernels import changes_of_loss
from xorec.training.discrete.problem import Floats, Problem, Rows, Signs, make_problem
from xorec.training.discrete.sweeps import Proposer
from xorec.training.discrete.triplet_kernels import ITEM
from xorec.training.passes import Triplets

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
