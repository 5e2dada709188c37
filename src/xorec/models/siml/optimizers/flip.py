"""Flip: sweeps that turn a bit where the true loss falls."""

from __future__ import annotations

from typing import ClassVar

from xorec.models.siml.optimizers.sweeps import SweepOptimizer
from xorec.training.discrete.flips import Flips
from xorec.training.discrete.sweeps import Proposer


class Flip(SweepOptimizer):
    """`flip`."""

    name = "flip"
    auto_order: ClassVar[int] = 2

    def proposer(self) -> Proposer:
        return Flips()
