"""Straight-through: the gradient at the codes moves the rows behind them.

The others see a row's code, or with `softness` bits that are drawn around the row, harder from
epoch to epoch (`training.row_kernels`). Where the teacher has a weight, the codes also learn how
the float vectors order each pair's candidates, and the lists, where it has some (`teacher_lists`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from xorec.models.siml.optimizers.base import Optimizer
from xorec.models.siml.siml import ScaleInvariantStep, code_rows
from xorec.models.siml.siml_kernels import Terms
from xorec.models.siml.teacher_lists import with_lists
from xorec.training.checkpoint import Arrays
from xorec.training.passes import Pass
from xorec.training.row_kernels import SIGNS

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig

_GRAD_SQ_SUM = 1.0
"""Of rows before the first step: they come from vectors that are good already."""


class StraightThrough(Optimizer):
    """`ste`. A refit keeps all epochs: signs are hard only when the last one is done."""

    name = "ste"
    auto_order: ClassVar[int] = 3
    takes_lists = True
    runs_on_engine = False

    def start_arrays(self) -> Arrays:
        arrays = super().start_arrays()
        for kind in ("user", "item"):
            count = len(arrays[f"{kind}s"])
            arrays[f"{kind}_grad_sq_sum"] = np.full(count, _GRAD_SQ_SUM, dtype=np.float32)
        return arrays

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        config, start, pool = self.config, self.start, self.pool
        sampler, listed = with_lists(self.sampler, config.negatives, start.teacher.lists)
        terms = epoch_terms(config, epoch, self.seed)._replace(listed=listed)
        users = code_rows(arrays["users"], arrays["user_grad_sq_sum"], terms, pool)
        items = code_rows(arrays["items"], arrays["item_grad_sq_sum"], terms, pool, items=True)
        size = (config.negatives, config.block_size, self.seed, epoch)
        return Pass(start.pairs, sampler, *size, pool).run(
            lambda block, pairs: ScaleInvariantStep(users, items, terms, block, start.teacher)
        )


def epoch_terms(config: DSIMLConfig, epoch: int, seed: int) -> Terms:
    """The loss, the steps and how codes are drawn in an epoch: steps run out, bits harden.

    Short codes take short steps: one bit of theirs weighs more.
    """
    rate = config.learning_rate * (1 - epoch / config.epochs) * min(1.0, config.bits / 64) ** 0.5
    hardness = epoch / max(1, config.epochs - 1)
    return config.loss()._replace(
        kind=SIGNS,
        rate=rate,
        softness=config.softness,
        hardness=hardness,
        seed=seed,
        epoch=epoch,
    )
