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
from xorec.models.siml.siml_kernels import pair_slopes
from xorec.training.row_kernels import fetch_next


@fast_kernel
def siml_users(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    push: Any,
    pull: Any,
    lift: Any,
    lean: Any,
    losses: Any,
    user_slopes: Any,
    user_met: Any,
    g: Any,
    scale: Any,
    tau: Any,
    offset: Any,
    npair: Any,
) -> None:
    """The scale-invariant loss of each pair, and the users' slopes (a sum, not a mean)."""
    size = users.shape[1]
    step = np.empty(size, dtype=users.dtype)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        pair_slopes(
            users, items, u, i, pair, negatives, push, pull, lift, lean, losses, step,
            g, scale, tau, offset, npair,
        )  # fmt: skip
        user_met[u] += np.float32(1)
        for f in range(size):
            user_slopes[u, f] += step[f] - lift[pair] * items[i, f]


@fast_kernel
def siml_items(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    push: Any,
    pull: Any,
    lift: Any,
    lean: Any,
    item_slopes: Any,
    item_met: Any,
    part: Any,
    parts: Any,
) -> None:
    """The slopes of the items of this part, in both roles."""
    size, count, mask = users.shape[1], negatives.shape[1], parts - 1
    each = np.float32(1) / np.float32(count)
    table = item_slopes.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            rise = lift[pair]
            item_met[i] += np.float32(1)
            for f in range(size):
                item_slopes[i, f] += lean[pair, f] - rise * users[u, f]
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                with_i = push[pair, k]
                with_u = with_i + pull[pair, k]
                item_met[j] += each
                for f in range(size):
                    item_slopes[j, f] += with_u * users[u, f] + with_i * items[i, f]
