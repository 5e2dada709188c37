"""The steps of PHD over a block of pairs: codes are drawn, slopes summed, every row steps once.

With the bits z of a user u and the lacks a = 1 - z of an item c, r bits:

    s_c = 1 - (2/r) sum_f z_uf a_cf,     ds/dz_uf = -(2/r) a_cf,     ds/dz_cf = (2/r) z_uf

and the slope at the logit E behind a bit is the one at z times p (1 - p), p = sigma(E): straight
through the draw. A bit is z = p + hard (1[p > uniform] - p): of mean p whatever `hard` is, the
chance itself at 0, a drawn bit at 1.

Shapes: logits and bits of users (n, r); logits, lacks, chances and sums of items (m, r); owner,
positives, losses (P,); negatives (P, K); slopes (P, K + 1), dL/ds of the positive first. A negative
of -1 is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import draw, stream
from xorec.training.row_kernels import fetch_next

SURE = np.float32(30)
"""Logits stay within 30, where a bit no longer moves and its draw is certain in float32."""
_TINY = np.float32(1e-8)
_SIXTEEN = np.uint64(65535)
_USERS, _ITEMS, _NOISE = 0x7573657273, 0x6974656D73, 0x6E6F697365
"""These keep the draws of users, of items and of the noise apart."""


@inlined
def _draw_bits(logits: Any, row: Any, key: Any, hard: Any, chances: Any, at: Any, z: Any) -> None:
    """chances[at] = p and the bits z[row] of a row; one number of the stream has four uniforms."""
    size = logits.shape[1]
    one = np.float32(1)
    for f in range(0, size, 4):
        number = draw(key, f)
        for g in range(f, min(f + 4, size)):
            chance = one / (one + np.exp(-logits[row, g]))
            uniform = (np.float32(number & _SIXTEEN) + np.float32(0.5)) / np.float32(65536)
            number = number >> np.uint64(16)
            chances[at, g] = chance
            z[row, g] = chance + hard * (np.float32(chance > uniform) - chance)


@inlined
def _move(
    logits: Any, row: Any, slope: Any, at: Any, chances: Any, pull: Any, spent: Any, rate: Any
) -> None:
    """A step against the slope, shorter the more the row has had (Adagrad); slope[at] ends as 0.

    pull: the weight of KL(p || 1/2), whose slope at p is the logit.
    """
    size = logits.shape[1]
    square = np.float32(0)
    for f in range(size):
        chance = chances[at, f]
        step = (slope[at, f] + pull * logits[row, f]) * chance * (np.float32(1) - chance)
        slope[at, f] = step
        square += step * step
    spent[row] += square
    length = rate / np.sqrt(spent[row] + _TINY)
    for f in range(size):
        logits[row, f] = min(max(logits[row, f] - length * slope[at, f], -SURE), SURE)
        slope[at, f] = np.float32(0)


@inlined
def _normal(number: Any) -> Any:
    """64 random bits as a nearly normal number: the sum of four uniforms, mean 0, variance 1."""
    total = np.float32(-131070)
    for _ in range(4):
        total += np.float32(number & _SIXTEEN)
        number = number >> np.uint64(16)
    return total * np.float32(1.7320508 / 65536)


@inlined
def _add_pair(
    bits: Any,
    lacks: Any,
    u: Any,
    i: Any,
    pair: Any,
    negatives: Any,
    slopes: Any,
    losses: Any,
    slope: Any,
    target: Any,
    noise: Any,
    key: Any,
) -> Any:
    """The loss of one pair, (1 - s_i)^2 + sum_j (target - s_j)^2, targets with noise of their own.

    slopes[pair] = dL/ds; the user's slope (1, r) takes in what the pair adds. Returns how many
    examples it had.
    """
    size, count = bits.shape[1], negatives.shape[1]
    one, two = np.float32(1), np.float32(2)
    per = two / np.float32(size)
    loss, met = np.float32(0), 0
    for k in range(count + 1):
        c = i if k == 0 else negatives[pair, k - 1]
        slopes[pair, k] = np.float32(0)
        if c >= 0:
            met += 1
            away = np.float32(0)
            for f in range(size):
                away += bits[u, f] * lacks[c, f]
            error = one - per * away - (one if k == 0 else target)
            if noise > np.float32(0):
                error -= noise * _normal(draw(key, i * (count + 1) + k))
            loss += error * error
            slopes[pair, k] = two * error
            gain = per * two * error
            for f in range(size):
                slope[0, f] -= gain * lacks[c, f]
    losses[pair] = loss
    return met


@fast_kernel
def step_users(
    logits: Any,
    spent: Any,
    bits: Any,
    lacks: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    slopes: Any,
    losses: Any,
    rate: Any,
    kl: Any,
    target: Any,
    noise: Any,
    hard: Any,
    seed: Any,
    turn: Any,
) -> None:
    """Each user of the block: a code is drawn, the pairs add up, the logits take one step.

    turn: the number of the block among all, for the draws. spent (n,): the sum of the squared
    slopes of each user so far.
    """
    size = bits.shape[1]
    slope = np.zeros((1, size), dtype=logits.dtype)
    chances = np.empty((1, size), dtype=logits.dtype)
    table, met = lacks.ravel(), 0
    key = stream(seed ^ _NOISE, turn, 0)
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u, i = owner[pair], positives[pair]
        if pair == 0 or owner[pair - 1] != u:
            met = 0
            key = stream(seed ^ _NOISE, turn, u)
            _draw_bits(logits, u, stream(seed ^ _USERS, turn, u), hard, chances, 0, bits)
        met += _add_pair(
            bits, lacks, u, i, pair, negatives, slopes, losses, slope, target, noise, key
        )
        if pair + 1 == len(owner) or owner[pair + 1] != u:
            pull = kl * np.float32(met) / np.float32(size)
            _move(logits, u, slope, 0, chances, pull, spent, rate)


@fast_kernel
def add_items(
    bits: Any,
    sums: Any,
    met: Any,
    owner: Any,
    positives: Any,
    negatives: Any,
    slopes: Any,
    part: Any,
    parts: Any,
) -> None:
    """sums[c] += dL/ds (2/r) z_u and met[c] += 1 for the items c & (parts - 1) == part."""
    size, count, mask = bits.shape[1], negatives.shape[1], parts - 1
    per = np.float32(2) / np.float32(size)
    table = sums.ravel()
    for pair in range(len(owner)):
        fetch_next(table, size, positives, negatives, pair)
        u = owner[pair]
        for k in range(count + 1):
            c = positives[pair] if k == 0 else negatives[pair, k - 1]
            if c >= 0 and c & mask == part:
                met[c] += np.float32(1)
                gain = per * slopes[pair, k]
                for f in range(size):
                    sums[c, f] += gain * bits[u, f]


@fast_kernel
def step_items(
    logits: Any,
    spent: Any,
    chances: Any,
    lacks: Any,
    sums: Any,
    met: Any,
    rate: Any,
    kl: Any,
    hard: Any,
    seed: Any,
    turn: Any,
    part: Any,
    parts: Any,
) -> None:
    """Each item of this part that was met takes its step, and a new code is drawn."""
    for row in range(part, len(logits), parts):
        if met[row] > np.float32(0):
            pull = kl * met[row] / np.float32(logits.shape[1])
            met[row] = np.float32(0)
            _move(logits, row, sums, row, chances, pull, spent, rate)
            _draw_item(logits, row, chances, lacks, hard, seed, turn)


@fast_kernel
def draw_items(logits: Any, chances: Any, lacks: Any, hard: Any, seed: Any, turn: Any) -> None:
    """The chances of all items' bits, and the codes that an epoch begins with."""
    for row in range(len(logits)):
        _draw_item(logits, row, chances, lacks, hard, seed, turn)


@inlined
def _draw_item(
    logits: Any, row: Any, chances: Any, lacks: Any, hard: Any, seed: Any, turn: Any
) -> None:
    _draw_bits(logits, row, stream(seed ^ _ITEMS, turn, row), hard, chances, row, lacks)
    for f in range(logits.shape[1]):
        lacks[row, f] = np.float32(1) - lacks[row, f]
