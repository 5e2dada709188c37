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
from xorec.training.discrete.bqp.local_kernels import Stack


class BatchSolver(Solver):
    """A solver with a kernel over [begin, end) of a stack."""

    def solve_many(
        self,
        A: npt.ArrayLike,
        c: npt.ArrayLike,
        Z: Codes,
        seed: int = 0,
        pool: ThreadPool | None = None,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Improve the codes Z (n, d), int8, in place; return (steps (n,), proven (n,)).

        A (n, d, d), c (n, d). Each problem ends as `solve` ends it, whatever the pool.
        """
        check_seed(seed)
        A, c = check_stack(A, c)
        if check_code(Z, c.shape, "Z") is not Z:
            raise DataError(f"Z holds {Z.dtype}: give an array of int8, which is changed in place.")
        stack = _stack(A, c, Z)
        work = self._work(stack, seed)
        if pool is None:
            work(0, len(Z))
        else:
            pool.map_ranges(len(Z), work)
        return stack.steps, stack.proven

    def _solve(self, A: Floats, c: Floats, z: Codes, seed: int) -> Solution:
        stack = _stack(A[None], c[None], z[None].copy())
        self._work(stack, seed)(0, 1)
        found, proven, steps = stack.Z[0], bool(stack.proven[0]), int(stack.steps[0])
        return Solution(found, value_of(A, c, found), proven, steps)

    @abstractmethod
    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        """A function that solves the problems [begin, end)."""


def _stack(A: Floats, c: Floats, Z: Codes) -> Stack:
    return Stack(A, c, Z, np.zeros(len(Z), np.int64), np.zeros(len(Z), np.bool_))
