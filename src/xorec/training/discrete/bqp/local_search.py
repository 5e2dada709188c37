"""Local search: fast, and nearly always at the optimum, which it cannot prove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from xorec.core.errors import OptionError
from xorec.training.discrete.bqp.batch import BatchSolver
from xorec.training.discrete.bqp.local_kernels import Stack, descend_range, tabu_range


@dataclass(frozen=True)
class Descent(BatchSolver):
    """Turn the bit that gains most until no single bit gains."""

    name: ClassVar[str] = "descent"

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        return lambda begin, end: descend_range(stack, begin, end)


@dataclass(frozen=True, kw_only=True)
class Tabu(BatchSolver):
    """Descent and a tabu walk, from the start and then from kicks of the best code.

    starts: walks in all. flips: steps of a walk; None takes d.
    """

    name: ClassVar[str] = "tabu"
    starts: int = 8
    flips: int | None = None

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise OptionError(f"starts is {self.starts}: give 1 or more.")
        if self.flips is not None and self.flips < 0:
            raise OptionError(f"flips is {self.flips}: give 0 or more, or leave it out.")

    def _work(self, stack: Stack, seed: int) -> Callable[[int, int], None]:
        flips = stack.Z.shape[1] if self.flips is None else self.flips
        return lambda begin, end: tabu_range(stack, self.starts, flips, seed, begin, end)
