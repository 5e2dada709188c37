"""FICO Xpress through cvxpy, the way the paper did it (extra `solvers`)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.support.external_solvers.boolean import BooleanProblem, BooleanSolver, Doubles, optional
from tests.support.external_solvers.xpress import refused
from xorec.training.discrete.bqp.base import Codes


@dataclass(frozen=True, kw_only=True)
class XpressCvxpy(BooleanSolver):
    """The model is built by cvxpy, which does not hand on the start or the nodes."""

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
