"""min z'Az + c'z over {-1,+1}^d: the solvers by name, each imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.training.discrete.bqp.base import Solver

SOLVERS = {
    "exact": ("xorec.training.discrete.bqp.exact", "Exact"),
    "descent": ("xorec.training.discrete.bqp.local_search", "Descent"),
    "tabu": ("xorec.training.discrete.bqp.local_search", "Tabu"),
}
"""Name: (module, class)."""


def make_solver(name: str, **settings: Any) -> Solver:
    """The solver called `name`, with its settings.

    >>> found = make_solver("exact").solve([[0.0, 1.0], [1.0, 0.0]], [0.5, 0.0])
    >>> found.z, found.value, found.proven
    (array([-1,  1], dtype=int8), -2.5, True)
    """
    if name not in SOLVERS:
        raise OptionError(f"there is no solver {name!r}: the solvers are {', '.join(SOLVERS)}.")
    module, attribute = SOLVERS[name]
    solver: Solver = getattr(import_module(module), attribute)(**settings)
    return solver
