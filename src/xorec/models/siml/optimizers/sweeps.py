"""What the optimisers have in common that sweep over all codes: fresh negatives, codes, signs."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from xorec.models.siml.optimizers.base import Optimizer, Signs, signs
from xorec.training.checkpoint import Arrays
from xorec.training.discrete.block_sweeps import BlockSweeps
from xorec.training.discrete.problem import LossTerms, make_problem
from xorec.training.discrete.sweep_blocks import Draw
from xorec.training.discrete.sweeps import Proposer, sweep
from xorec.training.passes import Triplets


class SweepOptimizer(Optimizer):
    """One sweep an epoch; a row's entry changes its sign where its bit was turned."""

    stops_early = True
    _elsewhere: BlockSweeps | None = None

    @abstractmethod
    def proposer(self) -> Proposer:
        """What finds new codes."""

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        users, items = signs(arrays["users"]), signs(arrays["items"])
        loss = self._sweep(users, items, Draw(self.config.negatives, self.seed, epoch))
        for rows, codes in ((arrays["users"], users), (arrays["items"], items)):
            np.negative(rows, out=rows, where=codes != signs(rows))
        counts, n_items = np.diff(self.sampler.indptr), self.sampler.n_items
        drawn = int(counts[counts < n_items].sum()) * self.config.negatives
        return loss / max(1, drawn)

    def _sweep(self, users: Signs, items: Signs, draw: Draw) -> float:
        """Turn bits of users and items in place; returns the loss of all triplets."""
        config, train = self.config, self.start.pairs
        terms = LossTerms(config.temperature, config.gamma, config.lambda_, config.margin)
        if self.engine is None:
            negatives = self.sampler.draw_all(*draw)
            triplets = Triplets(train.user_rows, train.indices, negatives)
            problem = make_problem(users, items, triplets, terms)
            return sweep(problem, self.proposer(), self.pool).loss_after
        if self._elsewhere is None:
            self._elsewhere = BlockSweeps(self.engine, self.sampler)
        return self._elsewhere.sweep(users, items, terms, self.proposer(), draw).loss_after

    def close(self) -> None:
        if self._elsewhere is not None:
            self._elsewhere.close()
