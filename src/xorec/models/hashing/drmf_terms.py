"""DRMF's loss and solvers for the sweeps of `optim`, and which triplets are easy enough yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs
from xorec.core.threads import ThreadPool
from xorec.models.hashing.drmf_kernels import descend_rows, leave_out
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.bqp_kernels import losses_of
from xorec.training.discrete.bqp_sweep import Bounds
from xorec.training.discrete.sweep_kernels import ITEM, Signs
from xorec.training.discrete.sweeps import Problem, Proposer, Rows
from xorec.training.losses.scale_invariant import Floats
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

    The problems are those of `training.discrete.bqp_sweep.Bounds`, solved bit after bit.
    """

    passes: int = _PASSES

    def __call__(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        """As `sweeps.Proposer`."""
        assert isinstance(problem.terms, PairTerms)
        data = (problem.codes, problem.lists, problem.tables)
        descend_rows(kind, rows, *data, problem.terms.scale, self.passes, Z, gains)
        if kind == ITEM:
            losses_of(kind, rows, *data, pack_signs(Z), gains)


def proposer_of(solver: str) -> Proposer:
    """What finds new codes: descent without A, or a solver of `discrete.bqp` with it."""
    return Descents() if solver == "descent" else Bounds(make_solver(solver))


def easy_triplets(
    B: Signs, D: Signs, triplets: Triplets, terms: PairTerms, pace: float, pool: ThreadPool
) -> tuple[Triplets, float]:
    """The triplets whose loss is below `pace`, and their share: the weights of self-paced learning.

    The negative of the others becomes -1: a triplet of weight 0 is one that is not there.
    """
    problem = Problem.of(B, D, triplets, terms, items=False)
    negatives = triplets.negatives.copy()
    pairs = len(negatives)
    kept: npt.NDArray[np.int64] = np.zeros((-(-pairs // _PAIRS_AT_ONCE), 2), dtype=np.int64)

    def work(piece: int) -> None:
        begin = piece * _PAIRS_AT_ONCE
        end = min(pairs, begin + _PAIRS_AT_ONCE)
        data = (problem.codes, problem.lists, problem.tables)
        kept[piece] = leave_out(*data, pace, begin, end, negatives)

    pool.map(len(kept), work)
    below, there = kept.sum(axis=0)
    return Triplets(triplets.users, triplets.positives, negatives), float(below / max(1, there))
