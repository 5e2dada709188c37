"""None: the signs of the turned vectors, as they are."""

from __future__ import annotations

from typing import ClassVar

from xorec.models.siml.optimizers.base import Optimizer
from xorec.training.checkpoint import Arrays


class TurnedSigns(Optimizer):
    """`none`."""

    name = "none"
    auto_order: ClassVar[int] = 0
    learns = False

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        """Nothing is learned."""
        return 0.0
