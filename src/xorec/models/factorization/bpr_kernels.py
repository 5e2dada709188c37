"""The two steps of BPR over a block of pairs: users, then items (see `training.blocks`).

Shapes: users (n, d), items (m, d); owner (P,) the user row of each pair, positives (P,), negatives
and pull (P, K). A negative of -1 is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.training.row_kernels import fetch_next

_STEEP = np.float32(15)  # beyond, sigma is flat: keeps exp and log finite


@fast_kernel
def step_users(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    pull: Any,
    rate: Any,
    reg: Any,
    losses: Any,
) -> None:
    """b_u += rate (pull (d_i - d_j) - reg b_u), triplet after triplet of the user.

    pull = sigma(-x), with the user as it is by then, is kept for the items' step, and the sum of
    softplus(-x) of each pair in losses (P,). (All negatives of a pair at once would be faster,
    but overshoots and diverges at useful rates.)
    """
    size, count = users.shape[1], negatives.shape[1]
    keep = np.float32(1) - rate * reg
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        loss = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            pull[pair, k] = np.float32(0)
            if j >= 0:
                x = np.float32(0)
                for f in range(size):
                    x += users[u, f] * (items[i, f] - items[j, f])
                x = min(max(x, -_STEEP), _STEEP)
                weight = np.float32(1) / (np.float32(1) + np.exp(x))
                pull[pair, k] = weight
                loss -= np.log(np.float32(1) - weight)
                gain = rate * weight
                for f in range(size):
                    users[u, f] = keep * users[u, f] + gain * (items[i, f] - items[j, f])
        losses[pair] = loss


@fast_kernel
def step_items(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    pull: Any,
    rate: Any,
    reg: Any,
    part: Any,
    parts: Any,
) -> None:
    """d_i += rate (sum_k pull_k b_u - K reg d_i), d_j += rate (-pull b_u - reg d_j).

    Only for the items v of this part, v & (parts - 1) == part, pair after pair.
    """
    count, mask = negatives.shape[1], parts - 1
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, items.shape[1], positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            together, drawn = np.float32(0), np.float32(0)
            for k in range(count):
                together += pull[pair, k]
                drawn += np.float32(negatives[pair, k] >= 0)
            _move(items, i, users, u, rate * together, rate * reg * drawn)
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                _move(items, j, users, u, -rate * pull[pair, k], rate * reg)


@inlined
def _move(items: Any, v: Any, users: Any, u: Any, gain: Any, shrink: Any) -> None:
    keep = np.float32(1) - shrink
    for f in range(items.shape[1]):
        items[v, f] = keep * items[v, f] + gain * users[u, f]
