"""Flip: every user's and item's code goes down in the exact loss, bit by bit (`flip_kernels`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.training.discrete.flip_kernels import flip_rows
from xorec.training.discrete.sweep_kernels import USER, Signs
from xorec.training.discrete.sweeps import LossTerms, Problem, Rows, SweepResult, sweep
from xorec.training.losses.scale_invariant import Floats
from xorec.training.passes import Triplets

_ROUNDS = 16


@dataclass(frozen=True)
class Flips:
    """Proposes the codes that descent by single bits ends at.

    moves: bits that one code may flip, at most; None for no limit.
    """

    moves: int | None = None
    rounds: int = _ROUNDS

    def __call__(self, problem: Problem, kind: int, rows: Rows, Z: Signs, gains: Floats) -> None:
        most = 2**31 - 1 if self.moves is None else self.moves
        data = (problem.codes, problem.lists, problem.tables)
        flip_rows(kind, rows, 0, len(rows), *data, self.rounds, most, Z, gains)


def flip_sweep(
    B: Signs,
    D: Signs,
    triplets: Triplets,
    terms: LossTerms,
    pool: ThreadPool,
    *,
    users: Rows | None = None,
    items: Rows | None = None,
    one_by_one: bool = False,
    moves: int | None = None,
) -> SweepResult:
    """One sweep of bit flips over B (n, d) and D (m, d), codes of +-1 in int8, in place.

    triplets: in the order of their users. users, items: the rows that may change, None for all.
    one_by_one: no two items side by side. moves: flips of one code, at most.
    """
    problem = Problem.of(B, D, triplets, terms)
    rows = {"users": users, "items": items}
    return sweep(problem, Flips(moves), pool, **rows, one_by_one=one_by_one)


def flip_one(
    D: Signs,
    positives: npt.NDArray[np.int32],
    negatives: npt.NDArray[np.int32],
    start: Signs,
    terms: LossTerms,
) -> Signs:
    """The code (d,) of one new user, by descent from `start` while the items D (m, d) stay.

    positives (P,), negatives (P, K): rows of D, -1 where there is none.
    """
    triplets = Triplets(np.zeros(len(positives), dtype=np.int32), positives, negatives)
    B: Signs = start[None].copy()
    problem = Problem.of(B, D, triplets, terms, items=False)
    Flips()(problem, USER, np.zeros(1, dtype=np.int64), B, np.empty((1, 2)))
    return B.ravel()
