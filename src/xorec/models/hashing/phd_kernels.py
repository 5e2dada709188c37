"""The steps of PHD over a block of pairs: codes are drawn, gradients summed, rows step once.

With the bits z of a user u and the lacks a = 1 - z of an item c, r bits:

    s_c = 1 - (2/r) sum_f z_uf a_cf,     ds/dz_uf = -(2/r) a_cf,     ds/dz_cf = (2/r) z_uf

and the gradient at the logit E behind a bit is the one at z times p (1 - p), p = sigma(E): straight
through the draw. A bit is z = p + hardness (1[p > uniform] - p): of mean p whatever `hardness` is,
the chance itself at 0, a drawn bit at 1.

A negative of -1 is none. Nothing is written but `new`, `kept` and rows that were taken for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import draw, stream
from xorec.training.row_kernels import prefetch_next

SURE = np.float32(30)
"""Logits stay within 30, where a bit no longer moves and its draw is certain in float32."""
_TINY = np.float32(1e-8)
_SIXTEEN = np.uint64(65535)
_USERS, _ITEMS, _NOISE = 0x7573657273, 0x6974656D73, 0x6E6F697365
"""These keep the draws of users, of items and of the noise apart."""


class Users(NamedTuple):
    """Logits (n, r), and the sum of the squared gradients of each row so far (n,)."""

    logits: Any
    grad_sq_sum: Any


class Items(NamedTuple):
    """The same of items, the chances of their bits when they were drawn, and what the drawn bits
    lack of 1 (m, r)."""

    logits: Any
    grad_sq_sum: Any
    chances: Any
    lacks: Any


class Terms(NamedTuple):
    """The loss, its steps, and the draws; turn: the number of the block among all."""

    rate: Any
    kl: Any
    target: Any
    noise: Any
    hardness: Any
    seed: int = 0
    turn: int = 0

    def cast(self, dtype: Any) -> Terms:
        """The numbers as the kernels take them."""
        number = np.dtype(dtype).type
        rate, kl, target, noise, hardness = (number(term) for term in self[:5])
        return Terms(rate, kl, target, noise, hardness, self.seed, self.turn)


class Kept(NamedTuple):
    """gradients (P, K + 1): dL/ds, of the positive first; losses (P,); bits (R, r) of the users."""

    gradients: Any
    losses: Any
    bits: Any


@inlined
def _draw_bits(
    logits: Any, row: Any, key: Any, hardness: Any, chances: Any, at: Any, z: Any
) -> None:
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
            z[row, g] = chance + hardness * (np.float32(chance > uniform) - chance)


@inlined
def _move(
    logits: Any,
    row: Any,
    sums: Any,
    at: Any,
    chances: Any,
    weight: Any,
    grad_sq_sum: Any,
    rate: Any,
) -> None:
    """An Adagrad step against the gradient sums[at] at the bits, which ends as 0.

    weight: that of KL(p || 1/2), whose gradient at p is the logit.
    """
    size = logits.shape[1]
    square = np.float32(0)
    for f in range(size):
        chance = chances[at, f]
        step = (sums[at, f] + weight * logits[row, f]) * chance * (np.float32(1) - chance)
        sums[at, f] = step
        square += step * step
    grad_sq_sum[row] += square
    length = rate / np.sqrt(grad_sq_sum[row] + _TINY)
    for f in range(size):
        logits[row, f] = min(max(logits[row, f] - length * sums[at, f], -SURE), SURE)
        sums[at, f] = np.float32(0)


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
    lacks: Any, row: Any, triplets: Any, pair: Any, terms: Any, kept: Any, sums: Any, key: Any
) -> Any:
    """The loss of one pair, (1 - s_i)^2 + sum_j (target - s_j)^2, targets with noise of their own.

    The user's bits are kept.bits[row]; kept.gradients[pair] = dL/ds; sums (1, r): the user's
    gradient, which takes in what the pair adds. Returns how many examples it had.
    """
    bits, negatives, i = kept.bits, triplets.negatives, triplets.positives[pair]
    size, count = bits.shape[1], negatives.shape[1]
    one, two = np.float32(1), np.float32(2)
    per = two / np.float32(size)
    loss, examples = np.float32(0), 0
    for k in range(count + 1):
        c = i if k == 0 else negatives[pair, k - 1]
        kept.gradients[pair, k] = np.float32(0)
        if c >= 0:
            examples += 1
            away = np.float32(0)
            for f in range(size):
                away += bits[row, f] * lacks[c, f]
            error = one - per * away - (one if k == 0 else terms.target)
            if terms.noise > np.float32(0):
                error -= terms.noise * _normal(draw(key, i * (count + 1) + k))
            loss += error * error
            kept.gradients[pair, k] = two * error
            gain = per * two * error
            for f in range(size):
                sums[0, f] -= gain * lacks[c, f]
    kept.losses[pair] = loss
    return examples


@fast_kernel
def step_users(users: Any, lacks: Any, triplets: Any, terms: Any, new: Any, kept: Any) -> None:
    """Each user of the block: a code is drawn, the pairs add up, the logits take one step.

    users: `Users`; new: those of the triplets, after the step.
    """
    size = lacks.shape[1]
    sums = np.zeros((1, size), dtype=lacks.dtype)
    chances = np.empty((1, size), dtype=lacks.dtype)
    table, examples, row = lacks.ravel(), 0, -1
    seed, turn = terms.seed, terms.turn
    key = stream(seed ^ _NOISE, turn, 0)
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, triplets.negatives, pair)
        u = triplets.users[pair]
        if pair == 0 or triplets.users[pair - 1] != u:
            examples = 0
            row += 1
            new.grad_sq_sum[row] = users.grad_sq_sum[u]
            for f in range(size):
                new.logits[row, f] = users.logits[u, f]
            key = stream(seed ^ _NOISE, turn, u)
            bits = stream(seed ^ _USERS, turn, u)
            _draw_bits(new.logits, row, bits, terms.hardness, chances, 0, kept.bits)
        examples += _add_pair(lacks, row, triplets, pair, terms, kept, sums, key)
        if pair + 1 == len(triplets.users) or triplets.users[pair + 1] != u:
            weight = terms.kl * np.float32(examples) / np.float32(size)
            _move(new.logits, row, sums, 0, chances, weight, new.grad_sq_sum, terms.rate)


@fast_kernel
def add_items(local: Any, kept: Any, new: Any) -> None:
    """new.sums[c] += dL/ds (2/r) z_u and new.counts[c] += 1 for the items c of `new`."""
    bits, sums = kept.bits, new.sums
    size, count = bits.shape[1], local.negatives.shape[1]
    per = np.float32(2) / np.float32(size)
    table = sums.ravel()
    for pair in range(len(local.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u = local.users[pair]
        for k in range(count + 1):
            c = local.positives[pair] if k == 0 else local.negatives[pair, k - 1]
            if c >= 0:
                new.counts[c] += np.float32(1)
                gain = per * kept.gradients[pair, k]
                for f in range(size):
                    sums[c, f] += gain * bits[u, f]


@fast_kernel
def step_items(ids: Any, rows: Any, gradients: Any, terms: Any) -> None:
    """Each item takes its step, and a new code is drawn; rows: `Items`, those of `ids`."""
    for row in range(len(ids)):
        weight = terms.kl * gradients.counts[row] / np.float32(rows.logits.shape[1])
        _move(
            rows.logits, row, gradients.sums, row, rows.chances, weight,
            rows.grad_sq_sum, terms.rate,
        )  # fmt: skip
        _draw_item(rows, row, stream(terms.seed ^ _ITEMS, terms.turn, ids[row]), terms.hardness)


@fast_kernel
def draw_items(rows: Any, hardness: Any, seed: Any, turn: Any) -> None:
    """The chances of all items' bits, and the codes that an epoch begins with."""
    for row in range(len(rows.logits)):
        _draw_item(rows, row, stream(seed ^ _ITEMS, turn, row), hardness)


@inlined
def _draw_item(rows: Any, row: Any, key: Any, hardness: Any) -> None:
    _draw_bits(rows.logits, row, key, hardness, rows.chances, row, rows.lacks)
    for f in range(rows.logits.shape[1]):
        rows.lacks[row, f] = np.float32(1) - rows.lacks[row, f]
