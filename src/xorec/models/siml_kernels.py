"""The steps of SIML over a block of pairs (see `optim.passes`), in float32.

With cosines c, g = gamma^2, temperature tau and the offset of the margin (METHOD, section 2):

    x_k = (c_uj - c_ui) / 2          v_k = sigma(x_k)
    y_k = tau (2g (c_uj + c_ij) - (1+g) c_ui + offset)
    w_k = sigma(y_k), or e^y_k / (1 + sum_l e^y_l) inside the log (N-pair)

    u:   sum_k  lambda tau w_k (2g d_j - (1+g) d_i)  +  v_k (d_j - d_i) / 2
    i:   sum_k  lambda tau w_k (2g d_j - (1+g) b_u)  -  v_k b_u / 2
    j_k: lambda tau w_k 2g (b_u + d_i)  +  v_k b_u / 2

`losses.scale_invariant` has the same in plain NumPy. Shapes: users (n, d), items and frozen (m, d);
owner, positives, losses, lift (P,); negatives, push, pull (P, K); lean (P, d). A negative of -1 is
none. Norms: 0 keeps every row on the unit sphere, 1 inside the unit ball, 2 leaves it free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.kernels import fast_kernel, inlined

_STEEP = np.float32(30)
_TINY = np.float32(1e-8)


@inlined
def _rescale(rows: Any, row: Any, norms: Any) -> None:
    """Move a row back to the sphere or into the ball."""
    if norms == 2:
        return
    total = np.float32(0)
    for f in range(rows.shape[1]):
        total += rows[row, f] * rows[row, f]
    if total > np.float32(1) or (norms == 0 and total > np.float32(0)):
        factor = np.float32(1) / np.sqrt(total)
        for f in range(rows.shape[1]):
            rows[row, f] *= factor


@inlined
def pair_slopes(
    users: Any,
    items: Any,
    u: Any,
    i: Any,
    pair: Any,
    negatives: Any,
    push: Any,
    pull: Any,
    lift: Any,
    lean: Any,
    losses: Any,
    step: Any,
    g: Any,
    scale: Any,
    tau: Any,
    offset: Any,
    npair: Any,
) -> None:
    """The loss of one pair and its slopes: what the user's and the items' steps are made of.

    scale = lambda. push_k = lambda tau w_k 2g and pull_k = v_k / 2 are the weights of j_k;
    lean = sum_k push_k d_jk and lift = sum_k lambda tau w_k (1+g) + v_k / 2 those of i;
    step (d,) = sum_k (push_k + pull_k) d_jk. The user's gradient is step - lift d_i.
    """
    size, count = users.shape[1], negatives.shape[1]
    two_g, one_g = np.float32(2) * g, np.float32(1) + g
    c_ui = np.float32(0)
    for f in range(size):
        c_ui += users[u, f] * items[i, f]
        lean[pair, f] = np.float32(0)
        step[f] = np.float32(0)
    total, loss, rise = np.float32(1), np.float32(0), np.float32(0)
    for k in range(count):
        j = negatives[pair, k]
        push[pair, k] = np.float32(0)
        pull[pair, k] = np.float32(0)
        if j >= 0:
            c_uj, c_ij = np.float32(0), np.float32(0)
            for f in range(size):
                c_uj += users[u, f] * items[j, f]
                c_ij += items[i, f] * items[j, f]
            y = tau * (two_g * (c_uj + c_ij) - one_g * c_ui + offset)
            power = np.exp(min(max(y, -_STEEP), _STEEP))
            push[pair, k] = power
            total += power
            if not npair:
                loss += scale * np.log(np.float32(1) + power)
            x = (c_uj - c_ui) * np.float32(0.5)
            power = np.exp(min(max(x, -_STEEP), _STEEP))
            pull[pair, k] = np.float32(0.5) * power / (np.float32(1) + power)
            loss += np.log(np.float32(1) + power)
    if npair:
        loss += scale * np.log(total)
    for k in range(count):
        j = negatives[pair, k]
        if j >= 0:
            power = push[pair, k]
            weight = power / total if npair else power / (np.float32(1) + power)
            weight *= scale * tau
            rise += weight * one_g + pull[pair, k]
            weight *= two_g
            push[pair, k] = weight
            both = weight + pull[pair, k]
            for f in range(size):
                lean[pair, f] += weight * items[j, f]
                step[f] += both * items[j, f]
    lift[pair] = rise
    losses[pair] = loss


@fast_kernel
def step_users(
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
    reg: Any,
    g: Any,
    scale: Any,
    tau: Any,
    offset: Any,
    npair: Any,
    norms: Any,
    spent: Any,
) -> None:
    """Each user's step, pair after pair; what the items' step needs of a pair is kept.

    spent (n,): the sum of the squared gradients of each user so far, which its steps shrink with.
    """
    size = users.shape[1]
    step = np.empty(size, dtype=np.float32)
    for pair in range(len(owner)):
        u, i = owner[pair], positives[pair]
        pair_slopes(
            users, items, u, i, pair, negatives, push, pull, lift, lean, losses, step,
            g, scale, tau, offset, npair,
        )  # fmt: skip
        square = np.float32(0)
        for f in range(size):
            step[f] += reg * users[u, f] - lift[pair] * items[i, f]
            square += step[f] * step[f]
        spent[u] += square
        size_of_step = rate / np.sqrt(spent[u] + _TINY)
        for f in range(size):
            users[u, f] -= size_of_step * step[f]
        _rescale(users, u, norms)


@fast_kernel
def step_items(
    users: Any,
    items: Any,
    frozen: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    push: Any,
    pull: Any,
    lift: Any,
    lean: Any,
    rate: Any,
    reg: Any,
    spent: Any,
    part: Any,
    parts: Any,
) -> None:
    """The items v of this part, v & (parts - 1) == part, in both roles, pair after pair.

    frozen: the items as they were before this step; what one item says of another is read there.
    spent (m,): as for the users.
    """
    size, count, mask = users.shape[1], negatives.shape[1], parts - 1
    step = np.empty(size, dtype=np.float32)
    for pair in range(len(owner)):
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            rise = lift[pair]
            square = np.float32(0)
            for f in range(size):
                step[f] = lean[pair, f] - rise * users[u, f] + reg * items[i, f]
                square += step[f] * step[f]
            spent[i] += square
            size_of_step = rate / np.sqrt(spent[i] + _TINY)
            for f in range(size):
                items[i, f] -= size_of_step * step[f]
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                with_i = push[pair, k]
                with_u = with_i + pull[pair, k]
                square = np.float32(0)
                for f in range(size):
                    step[f] = with_u * users[u, f] + with_i * frozen[i, f] + reg * items[j, f]
                    square += step[f] * step[f]
                spent[j] += square
                size_of_step = rate / np.sqrt(spent[j] + _TINY)
                for f in range(size):
                    items[j, f] -= size_of_step * step[f]


@fast_kernel
def settle_items(
    items: Any, frozen: Any, positives: Any, negatives: Any, norms: Any, part: Any, parts: Any
) -> None:
    """Rescale the items of this part that were touched, and freeze them for the next block."""
    size, count, mask = items.shape[1], negatives.shape[1], parts - 1
    for pair in range(len(positives)):
        for k in range(-1, count):
            v = positives[pair] if k < 0 else negatives[pair, k]
            if v >= 0 and v & mask == part:
                changed = False
                for f in range(size):
                    changed |= items[v, f] != frozen[v, f]
                if changed:
                    _rescale(items, v, norms)
                    for f in range(size):
                        frozen[v, f] = items[v, f]
