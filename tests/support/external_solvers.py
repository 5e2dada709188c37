"""Solvers of others for min z'Az + c'z (extra `solvers`): oracles and peers of our own.

They get the problem in booleans t = (z + 1) / 2:

z'Az + c'z = t'(4A)t + (2c - 4A1)'t + 1'A1 - c'1
"""

from __future__ import annotations

import ctypes
import ctypes.util
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import MissingExtraError, OptionError, XorecError
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


_FENV_BYTES = 256
"""More than C's fenv_t has anywhere."""


@contextmanager
def kept_float_environment() -> Iterator[None]:
    """Inside, foreign code may set what it likes; afterwards this thread rounds as before.

    Xpress leaves the x87 unit at the precision of doubles in the thread that called it. OpenBLAS
    computes norms on that unit, so LAPACK's last digits differed from then on.
    """
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    kept = ctypes.create_string_buffer(_FENV_BYTES)
    library.fegetenv(kept)
    try:
        yield
    finally:
        library.fesetenv(kept)


@dataclass(frozen=True, kw_only=True)
class Scip(BooleanSolver):
    """Branch and bound by SCIP, on one thread."""

    name: ClassVar[str] = "scip"

    def _minimise(
        self, problem: BooleanProblem, start: Codes, seed: int
    ) -> tuple[Doubles | None, bool, int]:
        scip = optional("pyscipopt")
        model = scip.Model()
        model.hideOutput()
        model.setParam("limits/time", self.time_limit)
        model.setParam("randomization/randomseedshift", seed % 2**31)
        d = len(start)
        t = [model.addVar(vtype="B") for _ in range(d)]
        value = model.addVar(lb=None)  # SCIP's objective is linear: minimise what bounds the value
        square = [problem.Q[i, j] * t[i] * t[j] for i in range(d) for j in range(d)]
        linear = [problem.linear[i] * t[i] for i in range(d)]
        model.addCons(value >= scip.quicksum(square) + scip.quicksum(linear))
        model.setObjective(value)
        known = model.createSol()
        for variable, bit in zip(t, start, strict=True):
            model.setSolVal(known, variable, float(bit))
        model.setSolVal(known, value, float(start @ problem.Q @ start + problem.linear @ start))
        model.addSol(known)
        model.optimize()
        proven, nodes = model.getStatus() == "optimal", int(model.getNNodes())
        if not model.getNSols():
            return None, proven, nodes
        return np.array([model.getVal(variable) for variable in t]), proven, nodes


@dataclass(frozen=True, kw_only=True)
class Xpress(BooleanSolver):
    """Branch and bound by FICO Xpress, on as many threads as it likes; its community licence limits
    the size."""

    name: ClassVar[str] = "xpress"

    def _minimise(
        self, problem: BooleanProblem, start: Codes, seed: int
    ) -> tuple[Doubles | None, bool, int]:
        xpress = optional("xpress")
        try:
            with warnings.catch_warnings():  # it announces its community licence
                warnings.simplefilter("ignore")
                model = xpress.problem()
            model.setOutputEnabled(False)
            t = model.addVariables(len(start), vartype=xpress.binary)
            model.setObjective(xpress.Dot(t, problem.Q, t) + xpress.Dot(problem.linear, t))
            model.controls.timelimit = self.time_limit
            model.controls.randomseed = seed % 2**31
            model.addMipSol(start.astype(np.float64))
            model.optimize()
        except (xpress.SolverError, xpress.InterfaceError, xpress.ModelError) as error:
            raise refused(len(start), error) from None
        status = model.attributes.solstatus
        nodes = int(model.attributes.nodes)
        if status not in (xpress.SolStatus.OPTIMAL, xpress.SolStatus.FEASIBLE):
            return None, False, nodes
        return np.array(model.getSolution()), status == xpress.SolStatus.OPTIMAL, nodes


def refused(bits: int, error: Exception) -> XorecError:
    """What Xpress says when a problem is too large for its licence, or there is none."""
    return XorecError(
        f"Xpress refused a problem of {bits} bits: {' '.join(str(error).split())} "
        "(its community licence has a size limit: the solvers exact and tabu have none)."
    )


@dataclass(frozen=True, kw_only=True)
class XpressCvxpy(BooleanSolver):
    """Xpress through cvxpy, as the paper did it; cvxpy does not hand on the start or the nodes."""

    name: ClassVar[str] = "xpress-cvxpy"

    def _minimise(
        self, problem: BooleanProblem, start: Codes, seed: int
    ) -> tuple[Doubles | None, bool, int]:
        xpress = optional("xpress")
        cvxpy = optional("cvxpy")
        t = cvxpy.Variable(len(start), boolean=True)
        value = cvxpy.quad_form(t, cvxpy.psd_wrap(problem.Q)) + problem.linear @ t
        model = cvxpy.Problem(cvxpy.Minimize(value))
        try:
            with warnings.catch_warnings():  # of the licence, and of a time limit that was reached
                warnings.simplefilter("ignore")
                model.solve(solver=cvxpy.XPRESS, timelimit=self.time_limit, randomseed=seed % 2**31)
        except (cvxpy.error.SolverError, xpress.SolverError) as error:
            raise refused(len(start), error) from None
        if t.value is None:
            return None, False, 0
        return np.asarray(t.value), model.status == cvxpy.OPTIMAL, 0


EXTERNAL_SOLVERS: dict[str, type[BooleanSolver]] = {
    solver.name: solver for solver in (Scip, Xpress, XpressCvxpy)
}


def make_external_solver(name: str, **settings: Any) -> BooleanSolver:
    """The solver called `name`, with its settings."""
    if name not in EXTERNAL_SOLVERS:
        known = ", ".join(EXTERNAL_SOLVERS)
        raise OptionError(f"there is no external solver {name!r}: they are {known}.")
    return EXTERNAL_SOLVERS[name](**settings)
