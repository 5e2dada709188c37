"""The two steps of CML over a block of pairs: users, then items (`training.passes`), in float32.

`losses.metric` has the same in plain NumPy. Users are as they are by then; items are read as they
were before the block. Rows are `training.rows.Rows`. A negative of -1 is none. Nothing is written
but `new` and `kept`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.arrays import APART
from xorec.core.kernels import fast_kernel, inlined
from xorec.training.row_kernels import BALL, adagrad_step, prefetch_next, project


class Terms(NamedTuple):
    """ranked: weigh pairs by w = log(1 + m * share of the negatives inside the margin), else 1."""

    margin: Any
    ranked: bool
    rate: Any


class Kept(NamedTuple):
    """Of each pair: the nearest negative (P, 1), or -1 where nothing moves; 2w (P,); the loss."""

    nearest: Any
    weights: Any
    losses: Any


@inlined
def square_distance(left: Any, one: Any, right: Any, other: Any) -> Any:
    """|left[one] - right[other]|^2."""
    total = np.float32(0)
    for f in range(left.shape[1]):
        difference = left[one, f] - right[other, f]
        total += difference * difference
    return total


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, terms: Any, new: Any, kept: Any) -> None:
    """Each user's step, pair after pair, along -2w (d_j* - d_i); kept: j* and 2w of each pair.

    items (m, d); new: the rows of the users of the triplets, after the step.
    """
    positives, negatives, rows = triplets.positives, triplets.negatives, new.vectors
    size, count, catalogue = items.shape[1], negatives.shape[1], np.float32(len(items))
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    table, u = items.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            new.grad_sq_sum[u] = users.grad_sq_sum[triplets.users[pair]]
            for f in range(size):
                rows[u, f] = users.vectors[triplets.users[pair], f]
        limit = terms.margin + square_distance(rows, u, items, i)
        hinge, best, inside, drawn = np.float32(0), -1, np.float32(0), np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0:
                drawn += np.float32(1)
                excess = limit - square_distance(rows, u, items, j)
                if excess > np.float32(0):
                    inside += np.float32(1)
                    if excess > hinge:
                        hinge, best = excess, j
        kept.nearest[pair, 0] = best
        kept.weights[pair] = np.float32(0)
        kept.losses[pair] = np.float32(0)
        if best >= 0:
            weight = np.float32(1)
            if terms.ranked:
                weight = np.log(np.float32(1) + catalogue * inside / drawn)
            kept.losses[pair] = weight * hinge
            weight *= np.float32(2)
            kept.weights[pair] = weight
            square = np.float32(0)
            for f in range(size):
                gradient[f] = weight * (items[best, f] - items[i, f])
                square += gradient[f] * gradient[f]
            adagrad_step(rows, u, gradient, square, new.grad_sq_sum, terms.rate)
            project(rows, rows, u, BALL)


@fast_kernel
def step_items(users: Any, local: Any, terms: Any, kept: Any, new: Any) -> None:
    """The items of `new`, by their numbers in `local`, in both roles, pair after pair.

    i: -2w (d_i - b_u)    j*: -2w (b_u - d_j*), from where the item has come to by then.
    users (R, d): those of the triplets, after their own step.
    """
    size, rows = users.shape[1], new.vectors
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    for pair in range(len(local.users)):
        u = local.users[pair]
        if kept.nearest[pair, 0] >= 0:
            for role in range(2):
                v = local.positives[pair] if role == 0 else local.negatives[pair, 0]
                weight = kept.weights[pair] if role == 0 else -kept.weights[pair]
                if v >= 0:
                    square = np.float32(0)
                    for f in range(size):
                        gradient[f] = weight * (rows[v, f] - users[u, f])
                        square += gradient[f] * gradient[f]
                    adagrad_step(rows, v, gradient, square, new.grad_sq_sum, terms.rate)
