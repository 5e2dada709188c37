"""The steps of straight-through learning of codes over a block of pairs (see `optim.passes`).

Every user and item has a latent row and a code row, code = sign(latent) / sqrt(d): a unit vector,
so dot products of codes are cosines and the loss is SIML's (`models.siml_kernels` has the formulas
and the names). The gradient at the codes moves the latent rows, which stay within [-1, 1].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.kernels import fast_kernel, inlined
from xorec.models.siml_kernels import pair_slopes


@inlined
def _take_sign(latent: Any, codes: Any, row: Any) -> None:
    """Clip a latent row to [-1, 1] and refresh its code."""
    size = latent.shape[1]
    unit = np.float32(1) / np.sqrt(np.float32(size))
    for f in range(size):
        value = min(max(latent[row, f], np.float32(-1)), np.float32(1))
        latent[row, f] = value
        codes[row, f] = unit if value >= np.float32(0) else -unit


@fast_kernel
def step_users(
    latent: Any,
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
    rate: Any,
    g: Any,
    scale: Any,
    tau: Any,
    offset: Any,
    npair: Any,
) -> None:
    """Each user's step, pair after pair; users and items are code rows, latent the users' own."""
    size = users.shape[1]
    step = np.empty(size, dtype=np.float32)
    for pair in range(len(owner)):
        u, i = owner[pair], positives[pair]
        pair_slopes(
            users, items, u, i, pair, negatives, push, pull, lift, lean, losses, step,
            g, scale, tau, offset, npair,
        )  # fmt: skip
        for f in range(size):
            latent[u, f] -= rate * (step[f] - lift[pair] * items[i, f])
        _take_sign(latent, users, u)


@fast_kernel
def step_items(
    latent: Any,
    users: Any,
    items: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    push: Any,
    pull: Any,
    lift: Any,
    lean: Any,
    rate: Any,
    part: Any,
    parts: Any,
) -> None:
    """The latent rows of the items of this part; the code rows stay until `settle_items`."""
    size, count, mask = users.shape[1], negatives.shape[1], parts - 1
    for pair in range(len(owner)):
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            rise = lift[pair]
            for f in range(size):
                latent[i, f] -= rate * (lean[pair, f] - rise * users[u, f])
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                with_i = rate * push[pair, k]
                with_u = with_i + rate * pull[pair, k]
                for f in range(size):
                    latent[j, f] -= with_u * users[u, f] + with_i * items[i, f]


@fast_kernel
def settle_items(
    latent: Any, items: Any, positives: Any, negatives: Any, part: Any, parts: Any
) -> None:
    """Clip the latent rows of this part that were touched, and refresh their codes."""
    count, mask = negatives.shape[1], parts - 1
    for pair in range(len(positives)):
        for k in range(-1, count):
            v = positives[pair] if k < 0 else negatives[pair, k]
            if v >= 0 and v & mask == part:
                _take_sign(latent, items, v)
