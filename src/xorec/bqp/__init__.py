"""min z'Az + c'z over {-1,+1}^d: the solvers by name, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xorec.errors import OptionError

if TYPE_CHECKING:
    from xorec.bqp.base import Solver

SOLVERS = {
    "exact": ("xorec.bqp.exact", "Exact"),
    "descent": ("xorec.bqp.local_search", "Descent"),
    "tabu": ("xorec.bqp.local_search", "Tabu"),
    "scip": ("xorec.bqp.scip", "Scip"),
    "xpress": ("xorec.bqp.xpress", "Xpress"),
    "xpress-cvxpy": ("xorec.bqp.xpress_cvxpy", "XpressCvxpy"),
}
"""Name: (module, class)."""


def make_solver(name: str, **settings: Any) -> Solver:
    """The solver called `name`, with its settings."""
    if name not in SOLVERS:
        raise OptionError(f"there is no solver {name!r}: the solvers are {', '.join(SOLVERS)}.")
    module, attribute = SOLVERS[name]
    solver: Solver = getattr(import_module(module), attribute)(**settings)
    return solver
