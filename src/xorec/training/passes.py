"""One pass over the training pairs, block by block: users first, then items, on a pool of threads.

What a model does in the two steps is its own (`Steps`); that every pair comes once, with fresh
negatives, and that the result is the same for any number of threads, is settled here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.training.blocks import Block, blocks_of, item_parts, user_blocks_of

_BLOCKS, _FEWEST = 64, 256
"""A pass has at least 64 blocks, unless they would be smaller than 256 pairs: what users and items
know of each other must not get too old, or popular items overshoot."""


@dataclass(frozen=True, eq=False)
class Triplets:
    """The pairs of a block, grouped by user, with their negatives.

    users, positives: (P,) rows; negatives: (P, K) rows, -1 where a user has every item.
    """

    users: npt.NDArray[np.int32]
    positives: npt.NDArray[np.int32]
    negatives: npt.NDArray[np.int32]


class Steps(Protocol):
    """What a model does with the triplets of one block."""

    def learn_users(self, own: slice) -> None:
        """Work off the pairs `own`, all pairs of some users, in order; items are read only."""

    def learn_items(self, part: int, parts: int) -> None:
        """Work off all pairs in order for the items v with v & (parts - 1) == part."""

    def finish(self, part: int, parts: int) -> None:
        """After all users and items, for the items of each part: what is to be tidied up."""

    def loss(self) -> float:
        """The sum of the loss over the triplets, as it was met."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One epoch's pass: its pairs, its negatives, its place in the random streams."""

    train: Interactions
    sampler: Negatives
    negatives: int
    block_size: int
    seed: int
    epoch: int
    pool: ThreadPool
    least_blocks: int = _BLOCKS
    per_user: bool = False
    """Every user has as many pairs in the pass as any other, drawn from their own."""

    def run(
        self, steps_of: Callable[[Triplets], Steps], after: Callable[[], object] = lambda: None
    ) -> float:
        """Learn from every pair once; returns the mean loss of a triplet as it was met.

        after: what is to be done after each block.
        """
        size = min(self.block_size, max(_FEWEST, self.train.n_pairs // self.least_blocks))
        deal = user_blocks_of if self.per_user else blocks_of
        total, pairs = 0.0, 0
        for number, block in enumerate(deal(self.train, size, self.seed, self.epoch)):
            total += self._block(block, number, steps_of)
            pairs += len(block)
            after()
        return total / (pairs * self.negatives)

    def _block(self, block: Block, number: int, steps_of: Callable[[Triplets], Steps]) -> float:
        triplets = Triplets(
            block.users,
            np.empty(len(block), dtype=np.int32),
            np.empty((len(block), self.negatives), dtype=np.int32),
        )
        steps = steps_of(triplets)
        turn = (self.epoch << 24) + number if self.per_user else self.epoch  # pairs come again

        def learn_users(begin: int, end: int) -> None:
            own = slice(block.starts[begin], block.starts[end])
            pairs = block.pairs[own]
            triplets.positives[own] = self.train.indices[pairs]
            negatives = triplets.negatives[own]
            self.sampler.draw(negatives, pairs, block.users[own], self.seed, turn)
            steps.learn_users(own)

        parts = item_parts(self.pool.threads)
        self.pool.map_ranges(block.n_runs, learn_users)
        self.pool.map(parts, lambda part: steps.learn_items(part, parts))
        self.pool.map(parts, lambda part: steps.finish(part, parts))
        return steps.loss()
