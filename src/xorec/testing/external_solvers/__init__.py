"""Solvers of others for min z'Az + c'z (extra `solvers`): oracles and peers of our own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xorec.core.errors import OptionError
from xorec.testing.external_solvers.boolean import BooleanSolver

EXTERNAL_SOLVERS = {
    "scip": ("xorec.testing.external_solvers.scip", "Scip"),
    "xpress": ("xorec.testing.external_solvers.xpress", "Xpress"),
    "xpress-cvxpy": ("xorec.testing.external_solvers.xpress_cvxpy", "XpressCvxpy"),
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
