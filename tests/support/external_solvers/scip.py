"""SCIP, through pyscipopt (extra `solvers`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tests.support.external_solvers.boolean import BooleanProblem, BooleanSolver, Doubles, optional
from xorec.training.discrete.bqp.base import Codes


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
