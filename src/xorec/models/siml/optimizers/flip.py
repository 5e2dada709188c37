"""Flip: sweeps that turn a bit where the true loss falls."""

from __future__ import annotations

from typing import ClassVar

from xorec.models.siml.optimizers.base import Signs
from xorec.models.siml.optimizers.sweeps import SweepOptimizer
from xorec.training.discrete.flip_sweep import flip_sweep
from xorec.training.discrete.problem import LossTerms
from xorec.training.discrete.sweeps import SweepResult
from xorec.training.passes import Triplets


class Flip(SweepOptimizer):
    """`flip`."""

    name = "flip"
    auto_order: ClassVar[int] = 2

    def sweep(
        self, users: Signs, items: Signs, triplets: Triplets, terms: LossTerms
    ) -> SweepResult:
        return flip_sweep(users, items, triplets, terms, self.pool)
