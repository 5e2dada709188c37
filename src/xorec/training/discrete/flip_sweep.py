"""Flip: every user's and item's code goes down in the exact loss, bit by bit (`flip_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.core.threads import ThreadPool
from xorec.training.discrete.flip_kernels import flip_rows
from xorec.training.discrete.problem import Floats, LossTerms, Problem, Rows, Signs, make_problem
from xorec.training.discrete.sweeps import SweepResult, sweep
from xorec.training.passes import Triplets

_ROUNDS = 16


@dataclass(frozen=True)
class Flips:
    """Proposes the codes that descent by single bits ends at.

    moves: bits that one code may flip, at most; None for no limit.
    """

    moves: int | None = None
    rounds: int = _ROUNDS

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """As `sweeps.Proposer`."""
        Z, gains = problem.codes.signs(kind)[rows], np.zeros((len(rows), 2))
        most = 2**31 - 1 if self.moves is None else self.moves
        flip_rows(kind, rows, problem, self.rounds, most, Z, gains)
        return Z, gains


def flip_sweep(
    B: Signs, D: Signs, triplets: Triplets, terms: LossTerms, pool: ThreadPool
) -> SweepResult:
    """One sweep of bit flips over B (n, d) and D (m, d), codes of +-1 in int8, in place.

    triplets: in the order of their users.
    """
    return sweep(make_problem(B, D, triplets, terms), Flips(), pool)
