"""The two steps of SML over a block of pairs: users, then items (`training.passes`), in float32.

Of each triplet (u, i, j_k), with x_k = 1 and y_k = lambda where a hinge is active (the same in
`losses.metric`, in plain NumPy):

    u:   2 sum_k  x_k (d_j - d_i) + y_k (b_u - d_i)             m_u: sum_k x_k - r_u
    i:   2 sum_k  x_k (d_i - b_u) + y_k (d_j - b_u)             n_i: sum_k y_k - r_i
    j_k: 2 x_k (b_u - d_j) + 2 y_k (d_i - d_j)

Users and their margins are as they are by then; items and theirs are shown as they were before
the block. Shapes: users (n, d), items (m, d); user_margins (n,), item_margins (m,); owner,
positives, losses (P,); negatives, active (P, K); lean (P, d). A negative of -1 is none.
active: 1 for the user's hinge, 2 for the item's, 3 for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.models.metric.cml_kernels import square_distance
from xorec.training.row_kernels import BALL, fetch_next, move, show

_TINY = np.float32(1e-8)


@inlined
def move_margin(margins: Any, spent: Any, row: Any, slope: Any, rate: Any, most: Any) -> None:
    """A step against the slope, shorter the more there were (Adagrad), within 0 .. most."""
    spent[row] += slope * slope
    margin = margins[row] - rate * slope / np.sqrt(spent[row] + _TINY)
    margins[row] = min(max(margin, np.float32(0)), most)


@fast_kernel
def step_users(
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    active: Any,
    lean: Any,
    losses: Any,
    user_margins: Any,
    item_margins: Any,
    lambda_: Any,
    user_reward: Any,
    item_reward: Any,
    rate: Any,
    spent: Any,
    margin_rate: Any,
    margin_spent: Any,
    most: Any,
) -> None:
    """Each user's step and that of their margin, pair after pair.

    Kept: which hinges are active, and lean = sum_k y_k d_jk.
    """
    size, count = users.shape[1], negatives.shape[1]
    zero, two = np.float32(0), np.float32(2)
    step = np.empty(size, dtype=np.float32)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        near = square_distance(users, u, items, i)
        m, n = user_margins[u], item_margins[i]
        loss, drawn, near_count, far_count = zero, zero, zero, zero
        for f in range(size):
            step[f] = np.float32(0)
            lean[pair, f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            active[pair, k] = 0
            if j >= 0:
                drawn += np.float32(1)
                excess = near - square_distance(users, u, items, j) + m
                if excess > np.float32(0):
                    loss += excess
                    near_count += np.float32(1)
                    active[pair, k] += 1
                    for f in range(size):
                        step[f] += items[j, f]
                excess = near - square_distance(items, i, items, j) + n
                if lambda_ > np.float32(0) and excess > np.float32(0):
                    loss += lambda_ * excess
                    far_count += lambda_
                    active[pair, k] += 2
                    for f in range(size):
                        lean[pair, f] += lambda_ * items[j, f]
        losses[pair] = loss - drawn * (user_reward * m + item_reward * n)
        square = np.float32(0)
        for f in range(size):
            own = far_count * users[u, f] - (near_count + far_count) * items[i, f]
            step[f] = two * (step[f] + own)
            square += step[f] * step[f]
        if drawn > np.float32(0):
            move(users, u, step, square, spent, rate)
            show(users, users, u, BALL)
            slope = near_count - drawn * user_reward
            move_margin(user_margins, margin_spent, u, slope, margin_rate, most)


@fast_kernel
def step_items(
    rows: Any,
    items: Any,
    users: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    active: Any,
    lean: Any,
    item_margins: Any,
    lambda_: Any,
    item_reward: Any,
    rate: Any,
    spent: Any,
    margin_rate: Any,
    margin_spent: Any,
    most: Any,
    part: Any,
    parts: Any,
) -> None:
    """The items v of this part, v & (parts - 1) == part, in both roles, pair after pair.

    rows: the items' own, which move from where they have come to; items: as shown.
    """
    size, count, mask, two = users.shape[1], negatives.shape[1], parts - 1, np.float32(2)
    step = np.empty(size, dtype=np.float32)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            near_count, far_count, drawn = np.float32(0), np.float32(0), np.float32(0)
            for k in range(count):
                near_count += np.float32(active[pair, k] & 1)
                far_count += lambda_ * np.float32(active[pair, k] >> 1)
                drawn += np.float32(negatives[pair, k] >= 0)
            square = np.float32(0)
            for f in range(size):
                own = near_count * rows[i, f] - (near_count + far_count) * users[u, f]
                step[f] = two * (lean[pair, f] + own)
                square += step[f] * step[f]
            move(rows, i, step, square, spent, rate)
            slope = far_count - drawn * item_reward
            move_margin(item_margins, margin_spent, i, slope, margin_rate, most)
        for k in range(count):
            j = negatives[pair, k]
            if active[pair, k] > 0 and j & mask == part:
                x = two * np.float32(active[pair, k] & 1)
                y = two * lambda_ * np.float32(active[pair, k] >> 1)
                square = np.float32(0)
                for f in range(size):
                    step[f] = x * users[u, f] + y * items[i, f] - (x + y) * rows[j, f]
                    square += step[f] * step[f]
                move(rows, j, step, square, spent, rate)
