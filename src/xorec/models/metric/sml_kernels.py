"""The two steps of SML over a block of pairs: users, then items (`training.passes`), in float32.

Of each triplet (u, i, j_k), with x_k = 1 and y_k = lambda where a hinge is active (the same in
`losses.metric`, in plain NumPy):

    u:   2 sum_k  x_k (d_j - d_i) + y_k (b_u - d_i)             m_u: sum_k x_k - r_u
    i:   2 sum_k  x_k (d_i - b_u) + y_k (d_j - b_u)             n_i: sum_k y_k - r_i
    j_k: 2 x_k (b_u - d_j) + 2 y_k (d_i - d_j)

Users and their margins are as they are by then; items and theirs are read as they were before the
block. A negative of -1 is none. Nothing is written but `new` and `kept`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.arrays import APART
from xorec.core.kernels import fast_kernel, inlined
from xorec.models.metric.cml_kernels import square_distance
from xorec.training.row_kernels import BALL, adagrad_step, prefetch_next, project

_TINY = np.float32(1e-8)


class MarginRows(NamedTuple):
    """Points (n, d), their margins (n,), and the sums of the squared gradients of both (n,)."""

    vectors: Any
    grad_sq_sum: Any
    margins: Any
    margin_grad_sq_sum: Any


class Terms(NamedTuple):
    """The loss and its steps; rewards: what the margins earn in each triplet."""

    lambda_: Any
    user_reward: Any
    item_reward: Any
    rate: Any
    margin_rate: Any
    max_margin: Any


class Kept(NamedTuple):
    """active (P, K): 1 for the user's hinge, 2 for the item's, 3 for both;
    negatives (P, d): sum_k y_k d_jk; losses (P,)."""

    active: Any
    negatives: Any
    losses: Any


@inlined
def move_margin(rows: Any, row: Any, gradient: Any, terms: Any) -> None:
    """An Adagrad step of a margin, within 0 .. max_margin."""
    grad_sq_sum = rows.margin_grad_sq_sum
    grad_sq_sum[row] += gradient * gradient
    margin = rows.margins[row] - terms.margin_rate * gradient / np.sqrt(grad_sq_sum[row] + _TINY)
    rows.margins[row] = min(max(margin, np.float32(0)), terms.max_margin)


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, terms: Any, new: Any, kept: Any) -> None:
    """Each user's step and that of their margin, pair after pair.

    users, items: `MarginRows`; new: those of the users of the triplets, after the step.
    """
    positives, negatives, lambda_ = triplets.positives, triplets.negatives, terms.lambda_
    rows, points, active = new.vectors, items.vectors, kept.active
    size, count = points.shape[1], negatives.shape[1]
    zero, two = np.float32(0), np.float32(2)
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table, u = points.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            _copy_row(users, triplets.users[pair], new, u)
        near = square_distance(rows, u, points, i)
        m, n = new.margins[u], items.margins[i]
        loss, drawn, near_count, far_count = zero, zero, zero, zero
        for f in range(size):
            gradient[f] = np.float32(0)
            kept.negatives[pair, f] = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            active[pair, k] = 0
            if j >= 0:
                drawn += np.float32(1)
                excess = near - square_distance(rows, u, points, j) + m
                if excess > np.float32(0):
                    loss += excess
                    near_count += np.float32(1)
                    active[pair, k] += 1
                    for f in range(size):
                        gradient[f] += points[j, f]
                excess = near - square_distance(points, i, points, j) + n
                if lambda_ > np.float32(0) and excess > np.float32(0):
                    loss += lambda_ * excess
                    far_count += lambda_
                    active[pair, k] += 2
                    for f in range(size):
                        kept.negatives[pair, f] += lambda_ * points[j, f]
        kept.losses[pair] = loss - drawn * (terms.user_reward * m + terms.item_reward * n)
        square = np.float32(0)
        for f in range(size):
            rest = far_count * rows[u, f] - (near_count + far_count) * points[i, f]
            gradient[f] = two * (gradient[f] + rest)
            square += gradient[f] * gradient[f]
        if drawn > np.float32(0):
            adagrad_step(rows, u, gradient, square, new.grad_sq_sum, terms.rate)
            project(rows, rows, u, BALL)
            move_margin(new, u, near_count - drawn * terms.user_reward, terms)


@inlined
def _copy_row(rows: Any, row: Any, new: Any, at: Any) -> None:
    new.grad_sq_sum[at] = rows.grad_sq_sum[row]
    new.margins[at] = rows.margins[row]
    new.margin_grad_sq_sum[at] = rows.margin_grad_sq_sum[row]
    for f in range(rows.vectors.shape[1]):
        new.vectors[at, f] = rows.vectors[row, f]


@fast_kernel
def step_items(
    users: Any, items: Any, triplets: Any, local: Any, terms: Any, kept: Any, new: Any
) -> None:
    """The items of `new`, by their numbers in `local`, in both roles, pair after pair.

    users (R, d): those of the triplets, after their own step; items (m, d): before the block.
    """
    lambda_, active, rows = terms.lambda_, kept.active, new.vectors
    size, count, two = users.shape[1], local.negatives.shape[1], np.float32(2)
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table = rows.ravel()
    for pair in range(len(local.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, i, v = local.users[pair], triplets.positives[pair], local.positives[pair]
        if v >= 0:
            near_count, far_count, drawn = np.float32(0), np.float32(0), np.float32(0)
            for k in range(count):
                near_count += np.float32(active[pair, k] & 1)
                far_count += lambda_ * np.float32(active[pair, k] >> 1)
                drawn += np.float32(triplets.negatives[pair, k] >= 0)
            square = np.float32(0)
            for f in range(size):
                rest = near_count * rows[v, f] - (near_count + far_count) * users[u, f]
                gradient[f] = two * (kept.negatives[pair, f] + rest)
                square += gradient[f] * gradient[f]
            adagrad_step(rows, v, gradient, square, new.grad_sq_sum, terms.rate)
            move_margin(new, v, far_count - drawn * terms.item_reward, terms)
        for k in range(count):
            v = local.negatives[pair, k]
            if active[pair, k] > 0 and v >= 0:
                x = two * np.float32(active[pair, k] & 1)
                y = two * lambda_ * np.float32(active[pair, k] >> 1)
                square = np.float32(0)
                for f in range(size):
                    gradient[f] = x * users[u, f] + y * items[i, f] - (x + y) * rows[v, f]
                    square += gradient[f] * gradient[f]
                adagrad_step(rows, v, gradient, square, new.grad_sq_sum, terms.rate)
