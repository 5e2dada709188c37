"""The two steps of BPR over a block of pairs: users, then items (see `training.passes`).

Shapes: users (n, d), items (m, d); triplets of P pairs with K negatives; sigma (P, K), losses (P,).
A negative of -1 is none. Nothing is written but `new` and `kept`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.training.row_kernels import prefetch_next

_STEEP = np.float32(15)  # beyond, sigma is flat: keeps exp and log finite


class Kept(NamedTuple):
    """Of each triplet sigma(-x) (P, K), of each pair the sum of softplus(-x) (P,)."""

    sigma: Any
    losses: Any


class StepSize(NamedTuple):
    """The length of the steps, and the weight of the squared norms."""

    rate: Any
    reg: Any


@fast_kernel
def step_users(users: Any, items: Any, triplets: Any, step: Any, new: Any, kept: Any) -> None:
    """b_u += rate (sigma(-x) (d_i - d_j) - reg b_u), triplet after triplet of the user.

    sigma(-x), with the user as it is by then, is kept for the items' step. new (R, d): the users of
    the triplets after it. (All negatives of a pair at once would be faster, but overshoots and
    diverges at useful rates.)
    """
    positives, negatives, sigma = triplets.positives, triplets.negatives, kept.sigma
    size, count = users.shape[1], negatives.shape[1]
    keep = np.float32(1) - step.rate * step.reg
    table, u = items.ravel(), -1
    for pair in range(len(positives)):
        prefetch_next(table, size, positives, negatives, pair)
        i = positives[pair]
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            u += 1
            for f in range(size):
                new[u, f] = users[triplets.users[pair], f]
        loss = np.float32(0)
        for k in range(count):
            j = negatives[pair, k]
            sigma[pair, k] = np.float32(0)
            if j >= 0:
                x = np.float32(0)
                for f in range(size):
                    x += new[u, f] * (items[i, f] - items[j, f])
                x = min(max(x, -_STEEP), _STEEP)
                weight = np.float32(1) / (np.float32(1) + np.exp(x))
                sigma[pair, k] = weight
                loss -= np.log(np.float32(1) - weight)
                gain = step.rate * weight
                for f in range(size):
                    new[u, f] = keep * new[u, f] + gain * (items[i, f] - items[j, f])
        kept.losses[pair] = loss


@fast_kernel
def step_items(
    triplets: Any,
    local: Any,
    users: Any,
    sigma: Any,
    step: Any,
    new: Any,
    part: Any,
    parts: Any,
) -> None:
    """d_i += rate (sum_k sigma_k b_u - K reg d_i), d_j += rate (-sigma_k b_u - reg d_j).

    For the items v of `new` (T, d), by their numbers in `local`, with v & (parts - 1) == part, pair
    after pair. users (R, d): those of `local` after their own step.
    """
    count, mask = sigma.shape[1], parts - 1
    table, rate = new.ravel(), step.rate
    for pair in range(len(local.users)):
        prefetch_next(table, new.shape[1], local.positives, local.negatives, pair)
        u, i = local.users[pair], local.positives[pair]
        if i >= 0 and i & mask == part:
            together, drawn = np.float32(0), np.float32(0)
            for k in range(count):
                together += sigma[pair, k]
                drawn += np.float32(triplets.negatives[pair, k] >= 0)
            _move(new, i, users, u, rate * together, rate * step.reg * drawn)
        for k in range(count):
            j = local.negatives[pair, k]
            if j >= 0 and j & mask == part:
                _move(new, j, users, u, -rate * sigma[pair, k], rate * step.reg)


@inlined
def _move(items: Any, v: Any, users: Any, u: Any, gain: Any, shrink: Any) -> None:
    keep = np.float32(1) - shrink
    for f in range(items.shape[1]):
        items[v, f] = keep * items[v, f] + gain * users[u, f]
