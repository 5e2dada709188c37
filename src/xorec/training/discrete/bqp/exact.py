"""The exact solver: tabu, then branch and bound with a convexified bound (docs/bqp.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xorec.core.errors import OptionError
from xorec.training.discrete.bqp.batch import BatchSolver
from xorec.training.discrete.bqp.branch_kernels import exact_range
from xorec.training.discrete.bqp.local_kernels import Stack


@dataclass(frozen=True, kw_only=True)
class Exact(BatchSolver):
    """Proves the optimum, to 1e-11 of sum |A| + sum |c|.

    Of problems such as training makes, it proved all that were tried up to d = 128.

    node_limit: when so many nodes do not suffice, the best code found is returned and `proven`
    is False. Ten million take about half a second.
    """

    name: ClassVar[str] = "exact"
    node_limit: int = 10_000_000

    def __post_init__(self) -> None:
        if self.node_limit < 1:
            raise OptionError(f"node_limit is {self.node_limit}: give 1 or more.")

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        A, c = (of.astype(np.float64, copy=False) for of in (stack.A, stack.c))
        double = stack._replace(A=A, c=c)
        return lambda begin, end: exact_range(double, seed, self.node_limit, begin, end)
