"""BQP, the paper's: sweeps of binary quadratic problems under the variational bound."""

from __future__ import annotations

from typing import ClassVar

from xorec.models.siml.optimizers.base import Signs
from xorec.models.siml.optimizers.sweeps import SweepOptimizer
from xorec.training.discrete.bqp_sweep import bqp_sweep
from xorec.training.discrete.problem import LossTerms
from xorec.training.discrete.sweeps import SweepResult
from xorec.training.passes import Triplets


class BinaryQuadratic(SweepOptimizer):
    """`bqp`."""

    name = "bqp"
    auto_order: ClassVar[int] = 1

    def sweep(
        self, users: Signs, items: Signs, triplets: Triplets, terms: LossTerms
    ) -> SweepResult:
        solver, seed = self.config.solver, self.seed
        return bqp_sweep(users, items, triplets, terms, self.pool, solver=solver, seed=seed)
