"""Solvers of others for min z'Az + c'z (extra `solvers`): oracles and peers of our own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tests.support.external_solvers.boolean import BooleanSolver
from xorec.core.errors import OptionError

EXTERNAL_SOLVERS = {
    "scip": ("tests.support.external_solvers.scip", "Scip"),
    "xpress": ("tests.support.external_solvers.xpress", "Xpress"),
    "xpress-cvxpy": ("tests.support.external_solvers.xpress_cvxpy", "XpressCvxpy"),
}
"""Name: (module, class)."""


def make_external_solver(name: str, **settings: Any) -> BooleanSolver:
    """The solver called `name`, with its settings."""
    if name not in EXTERNAL_SOLVERS:
        known = ", ".join(EXTERNAL_SOLVERS)
        raise OptionError(f"there is no external solver {name!r}: they are {known}.")
    module, attribute = EXTERNAL_SOLVERS[name]
    solver: BooleanSolver = getattr(import_module(module), attribute)(**settings)
    return solver
