"""The two steps of CML over a block of pairs: users, then items (`training.passes`), in float32.

`losses.metric` has the same in plain NumPy. Users are as they are by then; items are shown as they
were before the block. Shapes: users (n, d), items (m, d); owner, positives, chosen, weights, losses
(P,); negatives (P, K). A negative of -1 is none; chosen is the nearest, or -1 where nothing moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.training.row_kernels import BALL, fetch_next, move, show


@inlined
def square_distance(left: Any, one: Any, right: Any, other: Any) -> Any:
    """|left[one] - right[other]|^2."""
    total = np.float32(0)
    for f in range(left.shape[1]):
        difference = left[one, f] - right[other, f]
        total += difference * difference
    return total


@fast_kernel
def step_users(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    chosen: Any,
    weights: Any,
    losses: Any,
    margin: Any,
    ranked: Any,
    rate: Any,
    spent: Any,
) -> None:
    """Each user's step, pair after pair, along -2w (d_j* - d_i); kept: j* and 2w of each pair.

    ranked: weigh pairs by w = log(1 + m * share of the negatives inside the margin), else w = 1.
    """
    size, count, catalogue = users.shape[1], negatives.shape[1], np.float32(len(items))
    step = np.empty(size, dtype=np.float32)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        reach = margin + square_distance(users, u, items, i)
        hinge, best, inside, drawn = np.float32(0), -1, np.float32(0), np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0:
                drawn += np.float32(1)
                excess = reach - square_distance(users, u, items, j)
                if excess > np.float32(0):
                    inside += np.float32(1)
                    if excess > hinge:
                        hinge, best = excess, j
        chosen[pair] = best
        weights[pair] = np.float32(0)
        losses[pair] = np.float32(0)
        if best >= 0:
            weight = np.float32(1)
            if ranked:
                weight = np.log(np.float32(1) + catalogue * inside / drawn)
            losses[pair] = weight * hinge
            weight *= np.float32(2)
            weights[pair] = weight
            square = np.float32(0)
            for f in range(size):
                step[f] = weight * (items[best, f] - items[i, f])
                square += step[f] * step[f]
            move(users, u, step, square, spent, rate)
            show(users, users, u, BALL)


@fast_kernel
def step_items(
    rows: Any,
    users: Any,
    owner: Any,
    positives: Any,
    chosen: Any,
    weights: Any,
    rate: Any,
    spent: Any,
    part: Any,
    parts: Any,
) -> None:
    """The items v of this part, v & (parts - 1) == part, in both roles, pair after pair.

    i: -2w (d_i - b_u)    j*: -2w (b_u - d_j*), from where the item has come to by then.
    """
    size, mask = users.shape[1], parts - 1
    step = np.empty(size, dtype=np.float32)
    for pair in range(len(owner)):
        u = owner[pair]
        if chosen[pair] >= 0:
            for role in range(2):
                v = positives[pair] if role == 0 else chosen[pair]
                weight = weights[pair] if role == 0 else -weights[pair]
                if v & mask == part:
                    square = np.float32(0)
                    for f in range(size):
                        step[f] = weight * (rows[v, f] - users[u, f])
                        square += step[f] * step[f]
                    move(rows, v, step, square, spent, rate)
