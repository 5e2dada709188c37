"""The gradients of BPR's mean loss over a block, for models whose rows come from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.arrays import empty_apart
from xorec.models.factorization.bpr_gradient_kernels import bpr_items, bpr_users
from xorec.models.factorization.bpr_kernels import Kept
from xorec.training.passes import GradientStep, Triplets, UserResult


@dataclass(frozen=True, eq=False)
class BPRGradientStep(GradientStep):
    """share: one over the number of the block's triplets."""

    share: np.floating[Any]

    def keep(self, pairs: int, negatives: int, users: int) -> Kept:
        dtype = self.user_vectors.dtype
        return Kept(empty_apart((pairs, negatives), dtype), empty_apart(pairs, dtype))

    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        bpr_users(self.user_vectors, self.item_vectors, triplets, self.share, new, kept)

    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        bpr_items(self.user_vectors, result.triplets, local, result.kept.sigma, new)
