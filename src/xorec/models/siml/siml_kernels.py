"""The steps of SIML over a block of pairs (see `training.passes`), in float32.

With cosines c, g = gamma^2, temperature tau and the offset of the margin (METHOD, section 2):

    x_k = (c_uj - c_ui) / 2          v_k = sigma(x_k)
    y_k = tau (2g (c_uj + c_ij) - (1+g) c_ui + offset)
    w_k = sigma(y_k), or e^y_k / (1 + sum_l e^y_l) inside the log (N-pair)

    u:   sum_k  lambda tau w_k (2g d_j - (1+g) d_i)  +  v_k (d_j - d_i) / 2
    i:   sum_k  lambda tau w_k (2g d_j - (1+g) b_u)  -  v_k b_u / 2
    j_k: lambda tau w_k 2g (b_u + d_i)  +  v_k b_u / 2

`losses.scale_invariant` has the same in plain NumPy. Everybody has a row that moves, and a row that
is shown to the others. For vectors both are one, up to the moment: items are shown as they were
before the block. For codes the shown row is sign(row) / sqrt(d), a unit vector, or drawn around
the row, and the gradient at what is shown moves the row behind it (straight-through).

Shapes: users (n, d), items (m, d), each moving and shown; owner, positives, losses, lift (P,);
negatives, push, pull (P, K); lean (P, d). A negative of -1 is none. kind, reach, hard: see
`row_kernels`; the draws of a row are those of its stream in this epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import stream
from xorec.models.siml.teacher_kernels import teach
from xorec.training.row_kernels import SIGNS, fetch_next, move, show, show_code

_STEEP = np.float32(30)
USERS, ITEMS = 0x7573657273, 0x6974656D73
"""These keep the draws of users and of items apart."""


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
    rows: Any,
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
    kind: Any,
    reach: Any,
    hard: Any,
    seed: Any,
    epoch: Any,
    spent: Any,
    teacher_users: Any,
    teacher_items: Any,
    lessons: Any,
    steep: Any,
) -> None:
    """Each user's step, pair after pair; what the items' step needs of a pair is kept.

    rows: the users' own, which move; users, items: what is shown. spent (n,): the sum of the
    squared gradients of each user so far, which its steps shrink with. lessons (n,): what the
    teacher's order weighs for each user (`teacher_kernels`), or (0,) without a teacher.
    """
    size, candidates = users.shape[1], negatives.shape[1] + 1
    step = np.empty(size, dtype=np.float32)
    told, known = np.empty(candidates, np.float32), np.empty(candidates, np.float32)
    table = items.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        pair_slopes(
            users, items, u, i, pair, negatives, push, pull, lift, lean, losses, step,
            g, scale, tau, offset, npair,
        )  # fmt: skip
        if len(lessons) > 0 and lessons[u] > 0:
            teach(
                users, items, u, i, pair, negatives, pull, lift, losses, step,
                teacher_users, teacher_items, lessons[u], steep, told, known,
            )  # fmt: skip
        square = np.float32(0)
        for f in range(size):
            step[f] += reg * rows[u, f] - lift[pair] * items[i, f]
            square += step[f] * step[f]
        move(rows, u, step, square, spent, rate)
        if kind == SIGNS:
            key = stream(seed ^ USERS, epoch, u)
            show_code(rows, users, u, reach, hard, key, (i + 1) * size)
        else:
            show(rows, users, u, kind)


@fast_kernel
def step_items(
    rows: Any,
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
    reg: Any,
    spent: Any,
    part: Any,
    parts: Any,
) -> None:
    """The items v of this part, v & (parts - 1) == part, in both roles, pair after pair.

    rows: the items' own, which move; users, items: what is shown, here as before the block.
    """
    size, count, mask = users.shape[1], negatives.shape[1], parts - 1
    step = np.empty(size, dtype=np.float32)
    table = rows.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if i & mask == part:
            rise = lift[pair]
            square = np.float32(0)
            for f in range(size):
                step[f] = lean[pair, f] - rise * users[u, f] + reg * rows[i, f]
                square += step[f] * step[f]
            move(rows, i, step, square, spent, rate)
        for k in range(count):
            j = negatives[pair, k]
            if j >= 0 and j & mask == part:
                with_i = push[pair, k]
                with_u = with_i + pull[pair, k]
                square = np.float32(0)
                for f in range(size):
                    step[f] = with_u * users[u, f] + with_i * items[i, f] + reg * rows[j, f]
                    square += step[f] * step[f]
                move(rows, j, step, square, spent, rate)


@fast_kernel
def show_items(
    rows: Any,
    items: Any,
    positives: Any,
    negatives: Any,
    kind: Any,
    reach: Any,
    hard: Any,
    seed: Any,
    epoch: Any,
    stamps: Any,
    stamp: Any,
    part: Any,
    parts: Any,
) -> None:
    """Show each item of this part that took a step, once. stamps (m,): the last block of each."""
    size, count, mask = rows.shape[1], negatives.shape[1], parts - 1
    for pair in range(len(positives)):
        for k in range(-1, count):
            v = positives[pair] if k < 0 else negatives[pair, k]
            if v >= 0 and v & mask == part and stamps[v] != stamp:
                stamps[v] = stamp
                if kind == SIGNS:
                    key = stream(seed ^ ITEMS, epoch, v)
                    show_code(rows, items, v, reach, hard, key, (stamp + 1) * size)
                else:
                    show(rows, items, v, kind)
