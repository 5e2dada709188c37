"""Flip: every user's and item's code goes down in the exact loss, bit by bit (`flip_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.training.discrete.flip_kernels import flip_rows
from xorec.training.discrete.problem import Floats, Problem, Rows, Signs

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
