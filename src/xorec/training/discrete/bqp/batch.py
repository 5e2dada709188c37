"""Solvers that are kernels: they take a whole stack of problems, shared between threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.threads import ThreadPool
from xorec.training.discrete.bqp.base import (
    Codes,
    Floats,
    Solution,
    Solver,
    check_code,
    check_seed,
    check_stack,
    value_of,
)

Steps = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class BatchSolver(Solver):
    """A solver with a kernel over [begin, end) of a stack."""

    def solve_many(
        self,
        A: npt.ArrayLike,
        c: npt.ArrayLike,
        Z: Codes,
        seed: int = 0,
        pool: ThreadPool | None = None,
    ) -> tuple[Steps, Flags]:
        """Improve the codes Z (n, d), int8, in place; return (steps (n,), proven (n,)).

        A (n, d, d), c (n, d). Each problem ends as `solve` ends it, whatever the pool.
        """
        check_seed(seed)
        A, c = check_stack(A, c)
        if check_code(Z, c.shape, "Z") is not Z:
            raise DataError(f"Z holds {Z.dtype}: give an array of int8, which is changed in place.")
        steps, proven = np.zeros(len(Z), np.int64), np.zeros(len(Z), np.bool_)
        work = self._work(A, c, Z, steps, proven, seed)
        if pool is None:
            work(0, len(Z))
        else:
            pool.map_ranges(len(Z), work)
        return steps, proven

    def _solve(self, A: Floats, c: Floats, z: Codes, seed: int) -> Solution:
        Z = z[None].copy()
        steps, proven = np.zeros(1, np.int64), np.zeros(1, np.bool_)
        self._work(A[None], c[None], Z, steps, proven, seed)(0, 1)
        return Solution(Z[0], value_of(A, c, Z[0]), bool(proven[0]), int(steps[0]))

    @abstractmethod
    def _work(
        self, A: Floats, c: Floats, Z: Codes, steps: Steps, proven: Flags, seed: int
    ) -> Callable[[int, int], None]:
        """A function that solves the problems [begin, end)."""
