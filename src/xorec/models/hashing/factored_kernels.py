"""The kernels of DCF and CCCF: the sampled pairs by row, and each row's own problem.

A row z (b_u or d_v) has pairs p with targets s_p and rows o_p of the other side. Its objective is

    sum over p of (s_p - sum over k of a_k z_k o_pk)^2 - 2 pull.z    (+ sum over k of h_k z_k^2)

with a_k = scale[g(k)], the weight of the group that bit k belongs to. The residuals e_p are kept up
to date, so no matrix A is formed: in bit k alone the objective is q z^2 - 2 g z + rest, with

    q = a_k^2 sum_p o_pk^2,   g = a_k sum_p o_pk e_p + q z_k + pull_k,

and the best z_k is sign(g) (a bit stays where g = 0), or g / (q + h_k) for real rows, which have a
ridge h_k: `ridge` times the sum of the pairs' squared weights (their number, for weights 1). So it
is coordinate descent on A = O'O, c = -2 (O's + pull), at the cost of pairs x bits a pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, kernel

_ROUNDING = np.float32(1e-6)
_APART = 16  # between the columns of the buffer: a power of two would put them on one cache line


@kernel
def pairs_by_user(indptr: Any, indices: Any, negatives: Any) -> Any:
    """Every user's positives and negatives: (starts (n + 1), others); a negative j is -1 - j.

    negatives (n_pairs, K): -1 where there is none.
    """
    n_users, count = len(indptr) - 1, negatives.shape[1]
    starts = np.zeros(n_users + 1, dtype=np.int64)
    others = np.empty(len(indices) * (1 + count), dtype=np.int32)
    at = 0
    for user in range(n_users):
        for pair in range(indptr[user], indptr[user + 1]):
            others[at] = indices[pair]
            at += 1
            for k in range(count):
                if negatives[pair, k] >= 0:
                    others[at] = -1 - negatives[pair, k]
                    at += 1
        starts[user + 1] = at
    return starts, others[:at]


@kernel
def turned_round(starts: Any, others: Any, n_items: Any) -> Any:
    """The same pairs by item: a counting sort that keeps the users' order."""
    bounds = np.zeros(n_items + 1, dtype=np.int64)
    for at in range(len(others)):
        item = others[at] if others[at] >= 0 else -1 - others[at]
        bounds[item + 1] += 1
    bounds = np.cumsum(bounds)
    place = bounds[:-1].copy()
    users = np.empty(len(others), dtype=np.int32)
    for user in range(len(starts) - 1):
        for at in range(starts[user], starts[user + 1]):
            positive = others[at] >= 0
            item = others[at] if positive else -1 - others[at]
            users[place[item]] = user if positive else -1 - user
            place[item] += 1
    return bounds, users


@fast_kernel
def solve_rows(
    rows: Any,
    starts: Any,
    pairs: Any,
    others: Any,
    weights: Any,
    scale: Any,
    pull: Any,
    high: Any,
    low: Any,
    passes: Any,
    real: Any,
    ridge: Any,
    own: Any,
    values: Any,
    turned: Any,
) -> None:
    """Coordinate descent for `rows` of own (n, bits), at most `passes` passes over the bits each.

    starts, pairs: as `pairs_by_user`; others (m, bits): the other side's rows, and weights (m, G)
    of their groups; scale (n, G): the weights of own; pull (n, bits); high, low: the targets of
    positives and negatives.
    values (rows,): the sum of e_p^2 at the end; turned (rows,): how many bits changed.
    """
    size = own.shape[1]
    each = size // scale.shape[1]
    longest = 0
    for row in rows:
        longest = max(longest, starts[row + 1] - starts[row])
    width = longest + _APART
    room = np.empty(size * width, dtype=np.float32)
    left = np.empty(width, dtype=np.float32)
    squares = np.empty(size, dtype=np.float32)
    before = np.empty(size, dtype=np.float32)
    held = np.empty(scale.shape[1], dtype=np.float32)
    for at in range(len(rows)):
        row = rows[at]
        mine = pairs[starts[row] : starts[row + 1]]
        count = len(mine)
        z = own[row]
        columns = room[: size * (count + _APART)].reshape(size, count + _APART)
        _gather(mine, others, weights, z, scale[row], each, high, low, columns, left)
        for k in range(size):
            before[k] = z[k]
            if real or k % each == 0:
                a, column, total = scale[row, k // each], columns[k], np.float32(0)
                for p in range(count):
                    total += column[p] * column[p]
                squares[k] = a * a * total
            else:  # the entries of codes are as long in all bits of a group
                squares[k] = squares[k - 1]
        _hold(mine, weights, scale[row], ridge, held)
        for _ in range(passes):
            if not _pass(z, columns, left, count, squares, scale[row], held, pull[row], real):
                break
        changed, value = 0, 0.0
        for p in range(count):
            value += left[p] * left[p]
        for k in range(size):
            changed += before[k] != z[k]
        values[at], turned[at] = value, changed


@fast_helper
def _gather(
    mine: Any,
    others: Any,
    weights: Any,
    z: Any,
    scale: Any,
    each: Any,
    high: Any,
    low: Any,
    columns: Any,
    left: Any,
) -> None:
    """The other side's rows as columns (bits, pairs), and the residuals."""
    size = len(z)
    weighed = np.empty(size, dtype=np.float32)
    for k in range(size):
        weighed[k] = scale[k // each] * z[k]
    tile = np.empty((_APART, size), dtype=np.float32)
    for begin in range(0, len(mine), _APART):
        for t in range(min(_APART, len(mine) - begin)):
            positive = mine[begin + t] >= 0
            at = mine[begin + t] if positive else -1 - mine[begin + t]
            other, total = others[at], np.float32(0)
            for g in range(weights.shape[1]):
                group = slice(g * each, (g + 1) * each)
                given, mixed, kept = other[group], weighed[group], tile[t, group]
                weight = weights[at, g]
                for k in range(each):
                    value = weight * np.float32(given[k])
                    total += mixed[k] * value
                    kept[k] = value
            left[begin + t] = (high if positive else low) - total
        for k in range(size):
            for t in range(_APART):
                columns[k, begin + t] = tile[t, k]


@fast_helper
def _hold(mine: Any, weights: Any, scale: Any, ridge: Any, held: Any) -> None:
    """The ridge of each group of a row."""
    for g in range(len(scale)):
        held[g] = 0
    if ridge > 0:
        for p in range(len(mine)):
            at = mine[p] if mine[p] >= 0 else -1 - mine[p]
            for g in range(len(scale)):
                weight = scale[g] * weights[at, g]
                held[g] += ridge * weight * weight


@fast_helper
def _pass(
    z: Any,
    columns: Any,
    left: Any,
    count: Any,
    squares: Any,
    scale: Any,
    held: Any,
    pull: Any,
    real: Any,
) -> bool:
    """One pass over the bits; whether anything changed."""
    each = len(z) // len(scale)
    moved = False
    for k in range(len(z)):
        a, column, total = scale[k // each], columns[k], np.float32(0)
        for p in range(count):
            total += column[p] * left[p]
        slope = a * total + squares[k] * z[k] + pull[k]
        step = np.float32(0)
        if real:
            weight = squares[k] + held[k // each]
            if weight > np.float32(0):
                step = slope / weight - z[k]
        elif slope * z[k] < -_ROUNDING * squares[k]:
            step = -z[k] - z[k]
        if step != np.float32(0):
            moved = True
            z[k] += step
            step *= a
            for p in range(count):
                left[p] -= step * column[p]
    return moved
