"""Gradients of a block of triplets, without taking a step: for models whose rows come from others.

Users first, each user's pairs together, then the items of each part (see `training.passes`). What
the items' pass needs of a pair is kept. Shapes as in `bpr_kernels` and `siml_kernels`; user_slopes
(n, d) and item_slopes (m, d) take the gradients in; user_met (n,), item_met (m,) how often a row
came, a negative counting as its share of the pair. share = 1 / triplets: the loss is a mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel
from xorec.training.row_kernels import fetch_next

_STEEP = np.float32(30)


@fast_kernel
def bpr_users(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    pull: Any,
    losses: Any,
    user_slopes: Any,
    user_met: Any,
    share: Any,
) -> None:
    """softplus(-x), x = b_u.(d_i - d_j): pull = sigma(-x) share, and b_u's slope pull (d_j - d_i).

    losses (P,): the sum of a pair.
    """
    size, count = users.shape[1], negatives.shape[1]
    one = np.float32(1)
    step = np.empty(size, dtype=users.dtype)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        near, loss, together = np.float32(0), np.float32(0), np.float32(0)
        for f in range(size):
            near += users[u, f] * items[i, f]
            step[f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            pull[pair, k] = np.float32(0)
            if j >= 0:
                far = np.float32(0)
                for f in range(size):
                    far += users[u, f] * items[j, f]
                power = np.exp(min(max(far - near, -_STEEP), _STEEP))
                loss += np.log(one + power)
                weight = share * power / (one + power)
                pull[pair, k] = weight
                together += weight
                for f in range(size):
                    step[f] += weight * items[j, f]
        losses[pair] = loss
        user_met[u] += one
        for f in range(size):
            user_slopes[u, f] += step[f] - together * items[i, f]


@fast_kernel
def bpr_items(
    users: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    pull: Any,
    item_slopes: Any,
    item_met: Any,
    part: Any,
    parts: Any,
) -> None:
    """d_i's slope -pull b_u, d_j's slope pull b_u, of the items v & (parts - 1) == part."""
    size, count, mask = users.shape[1], negatives.shape[1], parts - 1
    each = np.float32(1) / np.float32(count)
    table = item_slopes.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            together = np.float32(0)
            for k in range(count):
                together += pull[pair, k]
            item_met[i] += np.float32(1)
            for f in range(size):
                item_slopes[i, f] -= together * users[u, f]
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                weight = pull[pair, k]
                item_met[j] += each
                for f in range(size):
                    item_slopes[j, f] += weight * users[u, f]
