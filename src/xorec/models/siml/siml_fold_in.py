"""A new user's vector by SIML: all passes of the users' step in one kernel, the items as they are.

It does what `siml_kernels.step_users` does with one user's pairs, pass after pass with fresh
negatives, without what only the items' step or a report needs (the sums of the negatives, the
losses). The loss and its settings are those of `siml_kernels`. The rows of four negatives are read
at once, so the rows of the user and of the positive stay in registers; e^t is a polynomial that
whole vectors of the machine take (a call of the library for each negative costs as much as all the
rest).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.arrays import APART
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import stream
from xorec.data.negatives import draw_outside
from xorec.models.siml.siml_kernels import STEEP
from xorec.training.rows import adagrad_step, prefetch_row, project

_LOG2_E = np.float32(1.4426950408889634)
_TAYLOR = tuple(
    np.float32(np.log(2.0) ** n / float(np.prod(np.arange(1, n + 1)))) for n in range(8)
)
_C1, _C2, _C3, _C4, _C5, _C6, _C7 = _TAYLOR[1:]


class FoldInPasses(NamedTuple):
    """negatives: of each pair; passes, and how many of the last are averaged; pairs: of a pass, at
    most. A longer history comes in turns, each pass goes on where the last one ended."""

    negatives: int
    passes: int
    averaged: int
    pairs: int


class _Scratch(NamedTuple):
    """Of one pair, K' the negatives rounded up to fours: rows (K',), their cosines to the user and
    to the positive, e^y and v / 2 (K',)."""

    rows: Any
    with_user: Any
    with_positive: Any
    scale: Any
    pairwise: Any
    bits: Any


@inlined
def _exp(values: Any, bits: Any) -> None:
    """values <- e^value, clipped to +-30: 2^n by its bits, times a polynomial of the rest.

    bits: int32, as long. Within 2e-7 of the value.
    """
    powers = bits.view(np.float32)
    for k in range(len(values)):
        t = min(max(values[k], -STEEP), STEEP) * _LOG2_E
        n = np.floor(t + np.float32(0.5))
        r = t - n
        bits[k] = (np.int32(n) + np.int32(127)) << np.int32(23)
        p = _C4 + r * (_C5 + r * (_C6 + r * _C7))
        values[k] = np.float32(1) + r * (_C1 + r * (_C2 + r * (_C3 + r * p)))
    for k in range(len(values)):
        values[k] *= powers[k]


@inlined
def _cosines(items: Any, i: Any, user: Any, scratch: Any) -> None:
    """Of each negative with the user and with the positive i."""
    size, rows = items.shape[1], scratch.rows
    for k in range(0, len(rows), 4):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        ua = ub = uc = ud = ia = ib = ic = id_ = np.float32(0)
        for f in range(size):
            u, p = user[0, f], items[i, f]
            ua += u * items[a, f]
            ub += u * items[b, f]
            uc += u * items[c, f]
            ud += u * items[d, f]
            ia += p * items[a, f]
            ib += p * items[b, f]
            ic += p * items[c, f]
            id_ += p * items[d, f]
        scratch.with_user[k], scratch.with_user[k + 1] = ua, ub
        scratch.with_user[k + 2], scratch.with_user[k + 3] = uc, ud
        scratch.with_positive[k], scratch.with_positive[k + 1] = ia, ib
        scratch.with_positive[k + 2], scratch.with_positive[k + 3] = ic, id_


@inlined
def _coefficients(c_ui: Any, count: Any, params: Any, scratch: Any) -> Any:
    """scale <- what each of the first `count` negatives weighs in the user's gradient, 0 for the
    others; returns what the positive weighs."""
    scale, pairwise, one = scratch.scale, scratch.pairwise, np.float32(1)
    two_g, one_g = np.float32(2) * params.gamma_sq, one + params.gamma_sq
    less = params.temperature * (params.offset - one_g * c_ui)
    for k in range(len(scale)):
        c_uj = scratch.with_user[k]
        scale[k] = params.temperature * two_g * (c_uj + scratch.with_positive[k]) + less
        pairwise[k] = (c_uj - c_ui) * np.float32(0.5)
    _exp(scale, scratch.bits)
    _exp(pairwise, scratch.bits)
    total, positive, weight = one, np.float32(0), params.lambda_ * params.temperature
    for k in range(count):
        total += scale[k]
    for k in range(count):
        below = total if params.npair else one + scale[k]
        share = weight * scale[k] / below
        half = np.float32(0.5) * pairwise[k] / (one + pairwise[k])
        positive += share * one_g + half
        scale[k] = share * two_g + half
    for k in range(count, len(scale)):
        scale[k] = np.float32(0)
    return positive


@inlined
def _gradient(items: Any, scratch: Any, gradient: Any) -> None:
    """gradient (d,) = sum of scale_k d_jk."""
    rows, scale = scratch.rows, scratch.scale
    for f in range(len(gradient)):
        gradient[f] = np.float32(0)
    for k in range(0, len(rows), 4):
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        x, y, z, w = scale[k], scale[k + 1], scale[k + 2], scale[k + 3]
        for f in range(len(gradient)):
            gradient[f] += (x * items[a, f] + y * items[b, f]) + (z * items[c, f] + w * items[d, f])


@fast_kernel
def fold_in_user(items: Any, history: Any, params: Any, passes: Any, mean: Any) -> None:
    """mean (1, d) <- the user's row after each of the last passes, averaged.

    items (m, d): their rows; history: the rows of the user's items, ascending, each once. The user
    starts in the middle of their items, and takes a step for each in each pass. Their negatives in
    pass t are those of the stream (0, t, 0), as of `data.negatives`.
    """
    size, n, count = items.shape[1], len(history), passes.negatives
    padded = (count + 3) // 4 * 4
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    user, grad_sq_sum = np.zeros((1, size), dtype=np.float32), np.zeros(1, dtype=np.float32)
    numbers = np.empty((4, padded), dtype=np.float32)
    before, ahead = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    rows, bits = np.empty(padded, dtype=np.int64), np.empty(padded, dtype=np.int32)
    scratch = _Scratch(rows, numbers[0], numbers[1], numbers[2], numbers[3], bits)
    drawn = count if n < len(items) else 0
    table = items.ravel()
    for row in range(n):
        for f in range(size):
            user[0, f] += items[history[row], f]
    for f in range(size):
        user[0, f] /= np.float32(n)
        mean[0, f] = np.float32(0)
    pairs, at = min(n, passes.pairs), 0
    if drawn > 0:
        draw_outside(ahead, before, history, 0, n, len(items), stream(0, 0, 0), 0)
    for turn in range(passes.passes):
        for pair in range(pairs):
            i = np.int64(history[at])
            at = at + 1 if at + 1 < n else 0
            for k in range(padded):
                rows[k] = ahead[k] if k < drawn else i
            if drawn > 0:
                last = pair + 1 == pairs
                key = stream(0, turn + 1 if last else turn, 0)
                position = 0 if last else (pair + 1) * count
                draw_outside(ahead, before, history, 0, n, len(items), key, position)
                for k in range(count):
                    prefetch_row(table, size, ahead[k])
            c_ui = np.float32(0)
            for f in range(size):
                c_ui += user[0, f] * items[i, f]
            _cosines(items, i, user, scratch)
            positive = _coefficients(c_ui, drawn, params, scratch)
            _gradient(items, scratch, gradient)
            square = np.float32(0)
            for f in range(size):
                gradient[f] += params.reg * user[0, f] - positive * items[i, f]
                square += gradient[f] * gradient[f]
            adagrad_step(user, 0, gradient, square, grad_sq_sum, params.rate)
            project(user, user, 0, params.kind)
        if turn >= passes.passes - passes.averaged:
            for f in range(size):
                mean[0, f] += user[0, f]
    for f in range(size):
        mean[0, f] /= np.float32(passes.averaged)
    project(mean, mean, 0, params.kind)
