"""The gradients of BPR's mean loss over a block, for models whose rows come from others.

Gradients of a block of triplets, without taking a step: for models whose rows come from others.

Users first, each user's pairs together, then items (see `training.passes`). new: the sums of the
gradients and how often a row came (`training.rows.Gradients`), a negative counting as its share of
the pair. share = 1 / triplets: the loss is a mean. Shapes as in `bpr`; kept.sigma is
share sigma(-x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.arrays import APART, empty_apart
from xorec.core.kernels import fast_kernel
from xorec.models.factorization.bpr import Kept
from xorec.training.passes import GradientStep, Triplets, UserResult
from xorec.training.row_kernels import prefetch_next

_STEEP = np.float32(30)


@fast_kernel
def bpr_users(users: Any, items: Any, triplets: Any, share: Any, new: Any, kept: Any) -> None:
    """softplus(-x), x = b_u.(d_i - d_j): b_u's gradient is share sigma(-x) (d_j - d_i).

    kept.losses (P,): the sum of a pair.
    """
    negatives, sigma = triplets.negatives, kept.sigma
    size, count = users.shape[1], negatives.shape[1]
    one = np.float32(1)
    gradient = np.empty(size + 2 * APART, dtype=users.dtype)[APART : APART + size]
    table, row = items.ravel(), -1
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, negatives, pair)
        u, i = triplets.users[pair], triplets.positives[pair]
        if pair == 0 or u != triplets.users[pair - 1]:
            row += 1
            new.counts[row] = np.float32(0)
            for f in range(size):
                new.sums[row, f] = np.float32(0)
        near, loss, together = np.float32(0), np.float32(0), np.float32(0)
        for f in range(size):
            near += users[u, f] * items[i, f]
            gradient[f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            sigma[pair, k] = np.float32(0)
            if j >= 0:
                far = np.float32(0)
                for f in range(size):
                    far += users[u, f] * items[j, f]
                power = np.exp(min(max(far - near, -_STEEP), _STEEP))
                loss += np.log(one + power)
                weight = share * power / (one + power)
                sigma[pair, k] = weight
                together += weight
                for f in range(size):
                    gradient[f] += weight * items[j, f]
        kept.losses[pair] = loss
        new.counts[row] += one
        for f in range(size):
            new.sums[row, f] += gradient[f] - together * items[i, f]


@fast_kernel
def bpr_items(users: Any, triplets: Any, local: Any, sigma: Any, new: Any) -> None:
    """d_i's gradient -sigma b_u, d_j's sigma b_u, of the items of `new`, numbered as in `local`."""
    size, count = users.shape[1], local.negatives.shape[1]
    each = np.float32(1) / np.float32(count)
    table = new.sums.ravel()
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, v = triplets.users[pair], local.positives[pair]
        if v >= 0:
            together = np.float32(0)
            for k in range(count):
                together += sigma[pair, k]
            new.counts[v] += np.float32(1)
            for f in range(size):
                new.sums[v, f] -= together * users[u, f]
        for k in range(count):
            v = local.negatives[pair, k]
            if v >= 0:
                weight = sigma[pair, k]
                new.counts[v] += each
                for f in range(size):
                    new.sums[v, f] += weight * users[u, f]


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
