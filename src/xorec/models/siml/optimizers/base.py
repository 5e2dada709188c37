"""Optimizer: how DSIML learns its bits, from rows whose signs are the first codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Engine
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.siml.siml_kernels import Teacher
from xorec.training.checkpoint import Arrays

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig

Floats = npt.NDArray[np.float32]
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Start:
    """What an optimiser starts from: rows whose signs are the codes, the pairs, a teacher.

    The rows are the optimiser's: it works on them in place.
    """

    users: Floats
    items: Floats
    pairs: Interactions
    teacher: Teacher


class Optimizer(ABC):
    """Takes the rows behind the codes, learns, and leaves rows whose signs are the codes."""

    name: ClassVar[str]
    """The value of the setting `optimizer`."""
    auto_order: ClassVar[int]
    """When `auto` tries it; of equals the first wins, and the last is taken without validation."""
    learns: ClassVar[bool] = True
    """False: the signs are taken as they are; no epochs, no pairs."""
    takes_lists: ClassVar[bool] = False
    """Whether it learns from the lists of a teacher (`teacher_lists`)."""
    runs_on_engine: ClassVar[bool] = True
    """False: its steps are too small to be sent; the fit is one task (`models.fit_task`)."""
    stops_early: ClassVar[bool] = False
    """Whether a refit runs for the epochs that validation chose, or for all that were set."""

    def __init__(
        self,
        config: DSIMLConfig,
        start: Start,
        seed: int,
        pool: ThreadPool,
        engine: Engine | None = None,
    ) -> None:
        """engine: where sweeps run, if not on the threads of the pool."""
        self.config, self.start, self.seed, self.pool = config, start, seed, pool
        self.engine = engine
        self.sampler = Negatives.of(start.pairs, config.alpha)

    def start_arrays(self) -> Arrays:
        """The rows behind the codes, those of the start themselves, and what else is learned."""
        return {"users": self.start.users, "items": self.start.items}

    @abstractmethod
    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        """Learn from all pairs once, in place; returns the mean loss."""

    def close(self) -> None:  # noqa: B027
        """Let go what was kept elsewhere."""

    def step(self, epoch: int, arrays: Arrays) -> dict[str, float]:
        """One epoch: the loss, and the shares of bits that were turned."""
        before = (arrays["users"] >= 0, arrays["items"] >= 0)
        loss = self.run_epoch(epoch, arrays)
        return {
            "loss": loss,
            "user_flips": float(np.mean(before[0] != (arrays["users"] >= 0))),
            "item_flips": float(np.mean(before[1] != (arrays["items"] >= 0))),
        }


def signs(rows: npt.NDArray[Any]) -> Signs:
    """+1 where a row is not negative, else -1."""
    return np.where(rows >= 0, np.int8(1), np.int8(-1))
