"""What the optimisers have in common that sweep over all codes: fresh negatives, codes, signs."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from xorec.models.siml.optimizers.base import Optimizer, Signs, signs
from xorec.training.checkpoint import Arrays
from xorec.training.discrete.problem import LossTerms
from xorec.training.discrete.sweeps import SweepResult
from xorec.training.passes import Triplets


class SweepOptimizer(Optimizer):
    """One sweep an epoch; a row's entry changes its sign where its bit was turned."""

    stops_early = True

    @abstractmethod
    def sweep(
        self, users: Signs, items: Signs, triplets: Triplets, terms: LossTerms
    ) -> SweepResult:
        """Turn bits of users and items in place."""

    def run_epoch(self, epoch: int, arrays: Arrays) -> float:
        config, train = self.config, self.start.pairs
        terms = LossTerms(config.temperature, config.gamma, config.lambda_, config.margin)
        users, items = signs(arrays["users"]), signs(arrays["items"])
        negatives = self.sampler.draw_all(config.negatives, self.seed, epoch)
        done = self.sweep(users, items, Triplets(train.user_rows, train.indices, negatives), terms)
        for rows, codes in ((arrays["users"], users), (arrays["items"], items)):
            rows[...] = np.where(codes == signs(rows), rows, -rows)
        return done.loss_after / max(1, int(np.count_nonzero(negatives >= 0)))
