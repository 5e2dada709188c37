"""FICO Xpress, called directly (extra `solvers`; its community licence limits the size)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.support.external_solvers.boolean import BooleanProblem, BooleanSolver, Doubles, optional
from xorec.core.errors import XorecError
from xorec.training.discrete.bqp.base import Codes


@dataclass(frozen=True, kw_only=True)
class Xpress(BooleanSolver):
    """Branch and bound by Xpress, on as many threads as it likes."""

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
