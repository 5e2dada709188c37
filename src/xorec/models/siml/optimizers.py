"""How DSIML learns its bits (METHOD, sections 3 and 4): the optimisers, and their registry.

Straight-through (`ste`): the gradient at the codes moves the rows behind them. The others see a
row's code, or with `softness` bits that are drawn around the row, harder from epoch to epoch
(`training.rows`). Where the teacher has a weight, the codes also learn how the float vectors and
the lists (`teacher_lists`) order each pair's candidates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from xorec.core.engine import Engine
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.new_rows import Signs, signs_of
from xorec.models.siml.siml import ScaleInvariantStep, code_rows
from xorec.models.siml.siml_kernels import LossParams, Teacher
from xorec.models.siml.teacher_lists import with_lists
from xorec.representations.vectors import Floats
from xorec.training.config import AUTO
from xorec.training.discrete.block_sweeps import BlockSweeps, Draw
from xorec.training.discrete.bounds import Bounds
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.flips import Flips
from xorec.training.discrete.problem import TripletLoss, make_problem
from xorec.training.discrete.sweeps import Proposer, sweep
from xorec.training.epochs import Arrays
from xorec.training.passes import Pass, Triplets
from xorec.training.rows import SIGNS

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig


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
    """False: its steps are too small to be sent; the fit is one task (`models.base`)."""
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


class SweepOptimizer(Optimizer):
    """One sweep an epoch; a row's entry changes its sign where its bit was turned."""

    stops_early = True
    _elsewhere: BlockSweeps | None = None

    @abstractmethod
    def proposer(self) -> Proposer:
        """What finds new codes."""

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        users, items = signs_of(arrays["users"]), signs_of(arrays["items"])
        loss = self._sweep(users, items, Draw(self.config.negatives, self.seed, epoch))
        for rows, codes in ((arrays["users"], users), (arrays["items"], items)):
            np.negative(rows, out=rows, where=codes != signs_of(rows))
        counts, n_items = np.diff(self.sampler.indptr), self.sampler.n_items
        drawn = int(counts[counts < n_items].sum()) * self.config.negatives
        return loss / max(1, drawn)

    def _sweep(self, users: Signs, items: Signs, draw: Draw) -> float:
        """Turn bits of users and items in place; returns the loss of all triplets."""
        config, train = self.config, self.start.pairs
        params = TripletLoss(config.temperature, config.gamma, config.lambda_, config.margin)
        if self.engine is None:
            negatives = self.sampler.draw_all(*draw)
            triplets = Triplets(train.user_rows, train.indices, negatives)
            problem = make_problem(users, items, triplets, params)
            return sweep(problem, self.proposer(), self.pool).loss_after
        if self._elsewhere is None:
            self._elsewhere = BlockSweeps(self.engine, self.sampler)
        return self._elsewhere.sweep(users, items, params, self.proposer(), draw).loss_after

    def close(self) -> None:
        if self._elsewhere is not None:
            self._elsewhere.close()


class BinaryQuadratic(SweepOptimizer):
    """`bqp`: the bound on a row's loss is a binary quadratic problem for a solver."""

    name = "bqp"
    auto_order = 1

    def proposer(self) -> Proposer:
        return Bounds(make_solver(self.config.solver), self.seed)


class Flip(SweepOptimizer):
    """`flip`: bits are turned one at a time where the loss falls."""

    name = "flip"
    auto_order = 2

    def proposer(self) -> Proposer:
        return Flips()


class RotatedSigns(Optimizer):
    """`none`: the signs of the rotated vectors."""

    name = "none"
    auto_order = 0
    learns = False

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        """Nothing is learned."""
        return 0.0


class StraightThrough(Optimizer):
    """`ste`. A refit keeps all epochs: signs are hard only when the last one is done."""

    name = "ste"
    auto_order = 3
    takes_lists = True
    runs_on_engine = False

    def start_arrays(self) -> Arrays:
        """The squared gradients begin at 1: rows come from vectors that are good already."""
        arrays = super().start_arrays()
        for kind in ("user", "item"):
            arrays[f"{kind}_grad_sq_sum"] = np.ones(len(arrays[f"{kind}s"]), dtype=np.float32)
        return arrays

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        config, start, pool = self.config, self.start, self.pool
        sampler, listed = with_lists(self.sampler, config.negatives, start.teacher.lists)
        params = epoch_params(config, epoch, self.seed)._replace(listed=listed)
        users = code_rows(arrays["users"], arrays["user_grad_sq_sum"], params, pool)
        items = code_rows(arrays["items"], arrays["item_grad_sq_sum"], params, pool, items=True)
        size = (config.negatives, config.block_size, self.seed, epoch)
        return Pass(start.pairs, sampler, *size, pool).run(
            lambda block, pairs: ScaleInvariantStep(users, items, params, block, start.teacher)
        )


def epoch_params(config: DSIMLConfig, epoch: int, seed: int) -> LossParams:
    """The loss, the steps and how codes are drawn in an epoch: steps run out, bits harden.

    Short codes take short steps: one bit of theirs weighs more.
    """
    rate = config.learning_rate * (1 - epoch / config.epochs) * min(1.0, config.bits / 64) ** 0.5
    hardness = epoch / max(1, config.epochs - 1)
    params = config.loss_params()._replace(kind=SIGNS, rate=rate, seed=seed, epoch=epoch)
    return params._replace(softness=config.softness, hardness=hardness)


OPTIMIZERS: dict[str, type[Optimizer]] = {
    one.name: one for one in (StraightThrough, Flip, BinaryQuadratic, RotatedSigns)
}


def candidates(setting: str) -> list[type[Optimizer]]:
    """The optimisers that a value of the setting stands for, in the order in which they are tried.

    >>> [optimizer.name for optimizer in candidates("auto")]
    ['none', 'bqp', 'flip', 'ste']
    >>> [optimizer.name for optimizer in candidates("flip")]
    ['flip']
    """
    if setting == AUTO:
        return sorted(OPTIMIZERS.values(), key=lambda optimizer: optimizer.auto_order)
    return [OPTIMIZERS[setting]]
