"""BQP, the paper's: sweeps of binary quadratic problems under the variational bound."""

from __future__ import annotations

from typing import ClassVar

from xorec.models.siml.optimizers.sweeps import SweepOptimizer
from xorec.training.discrete.bounds import Bounds
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.sweeps import Proposer


class BinaryQuadratic(SweepOptimizer):
    """`bqp`."""

    name = "bqp"
    auto_order: ClassVar[int] = 1

    def proposer(self) -> Proposer:
        return Bounds(make_solver(self.config.solver), self.seed)
