"""The problem in booleans t = (z + 1) / 2, for solvers from elsewhere.

z'Az + c'z = t'(4A)t + (2c - 4A1)'t + 1'A1 - c'1
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.external_solvers.float_environment import kept_float_environment
from xorec.core.errors import MissingExtraError, OptionError
from xorec.training.discrete.bqp.base import Codes, Floats, Solution, Solver, value_of

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BooleanProblem:
    """min t'Qt + linear't + constant over t in {0, 1}^d, with Q positive semidefinite."""

    Q: Doubles
    linear: Doubles
    constant: float


@dataclass(frozen=True, kw_only=True)
class BooleanSolver(Solver):
    """A solver from elsewhere, stopped after `time_limit` seconds with the best code so far."""

    time_limit: float = 60.0

    def __post_init__(self) -> None:
        if not self.time_limit > 0:
            raise OptionError(f"time_limit is {self.time_limit}: give seconds above 0.")

    def _solve(self, A: Floats, c: Floats, z: Codes, seed: int) -> Solution:
        problem = to_boolean(A, c)
        with kept_float_environment():
            t, proven, nodes = self._minimise(problem, (z + 1) // 2, seed)
        found = z if t is None else np.where(t > 0.5, 1, -1).astype(np.int8)
        return Solution(found, value_of(A, c, found), proven, nodes)

    @abstractmethod
    def _minimise(
        self, problem: BooleanProblem, start: Codes, seed: int
    ) -> tuple[Doubles | None, bool, int]:
        """(t, or None if nothing was found; whether it is proven; nodes)."""


def to_boolean(A: Floats, c: Floats) -> BooleanProblem:
    """The same problem in t. t_i^2 = t_i: where A is not convex, its diagonal makes it so."""
    A, c = A.astype(np.float64), c.astype(np.float64)
    A = (A + A.T) / 2
    Q, linear = 4 * A, 2 * c - 4 * A.sum(axis=0)
    lowest = float(np.linalg.eigvalsh(Q)[0])
    if lowest < 0:
        Q = Q - lowest * np.eye(len(c))
        linear = linear + lowest
    return BooleanProblem(Q, linear, float(A.sum() - c.sum()))


def optional(module: str) -> Any:
    """The module of an optional package."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"this solver needs the package {module}: pip install 'xorec[solvers]'."
        ) from None
