"""The kernels of DPR: the problems of users and of items, and the loss (`coordinate_kernels`).

Users: scale base = D'D / (m - |I_u|), own rows = the items that they have, p and q the means of
those and of all others. Items: base = the sum over u of b_u b_u' / (m - |I_u|), own rows = the
users who have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, kernel
from xorec.models.hashing.coordinate_kernels import make_scratch, own_rows, settle


@kernel
def _most(rows: Any, indptr: Any) -> int:
    """The most pairs that a row has, and at least 1."""
    most = 1
    for row in rows:
        most = max(most, indptr[row + 1] - indptr[row])
    return most


@fast_kernel
def settle_users(
    rows: Any, indptr: Any, indices: Any, D: Any, total: Any, gram: Any, pull: Any,
    target: Any, ridge: Any, real: Any, passes: Any, B: Any,
) -> None:  # fmt: skip
    """Settle the users `rows` of B (n, d); user u has the items indices[indptr[u]:indptr[u + 1]].

    D (m, d); total (d,) the sum of its rows, gram = D'D; pull (rows, d): alpha n x_u. With the
    means p of a user's own items and q of all others: l = target (q - p) - pull.
    """
    m, size = D.shape
    s = make_scratch(_most(rows, indptr), size)
    for at in range(len(rows)):
        u = rows[at]
        begin, count = indptr[u], indptr[u + 1] - indptr[u]
        if count == 0 or count == m:
            continue
        mine, rest, own = 1.0 / count, 1.0 / (m - count), own_rows(s, count)
        for i in range(count):
            item = indices[begin + i]
            s.weights[i] = mine - rest
            for f in range(size):
                own[f, i] = D[item, f]
        for f in range(size):
            together = 0.0
            for i in range(count):
                together += own[f, i]
            s.p[f], s.q[f] = mine * together, rest * (total[f] - together)
            s.linear[f] = target * (s.q[f] - s.p[f]) - pull[at, f]
            s.z[f] = B[u, f]
        settle(s, own, count, gram, rest, ridge, real, passes)
        for f in range(size):
            B[u, f] = s.z[f]


@fast_kernel
def settle_items(
    rows: Any, indptr: Any, indices: Any, B: Any, mine: Any, rest: Any, means: Any,
    total: Any, base: Any, pairs: Any, pull: Any,
    target: Any, ridge: Any, real: Any, passes: Any, D: Any,
) -> None:  # fmt: skip
    """Settle the items `rows` of D (m, d) one after another; item v has the users indices[...].

    mine, rest (n,): 1 / items of a user and 1 / all other items, 0 for who has none or all.
    base = sum of rest_u b_u b_u'; pull (rows, d): beta n y_v. Kept up to date as items move:
    means (n,): b_u.p_u; total (d,): the sum of all items; pairs (d,): the sum over all users of
    rest_u (target - means_u) b_u.
    """
    size = D.shape[1]
    s = make_scratch(_most(rows, indptr), size)
    for at in range(len(rows)):
        v = rows[at]
        begin, count = indptr[v], indptr[v + 1] - indptr[v]
        own = own_rows(s, count)
        for f in range(size):
            s.z[f] = D[v, f]
            s.linear[f] = pairs[f] - pull[at, f]
        for i in range(count):
            u = indices[begin + i]
            every = 0.0
            for f in range(size):
                own[f, i] = B[u, f]
                every += B[u, f] * total[f]
            s.weights[i] = mine[u] - rest[u]
            others = rest[u] * (every - means[u] / mine[u]) if mine[u] > 0.0 else 0.0
            s.v[i] = rest[u] * (target - means[u]) + mine[u] * (target + others)
        for f in range(size):
            part = 0.0
            for i in range(count):
                part += s.v[i] * own[f, i]
            s.linear[f] -= part
        settle(s, own, count, base, 1.0, ridge, real, passes)
        _take(s, own, count, v, begin, indices, mine, rest, means, total, pairs, D)


@fast_helper
def _take(
    s: Any, own: Any, count: int, v: int, begin: int, indices: Any, mine: Any, rest: Any,
    means: Any, total: Any, pairs: Any, D: Any,
) -> None:  # fmt: skip
    """Give item v the code s.z, and bring means, total and pairs up to date."""
    for i in range(count):
        s.v[i] = 0.0
    for f in range(len(s.z)):
        step = s.z[f] - D[v, f]
        if step != 0.0:
            D[v, f] = s.z[f]
            total[f] += step
            for i in range(count):
                s.v[i] += step * own[f, i]
    for i in range(count):
        u = indices[begin + i]
        step = mine[u] * s.v[i]
        means[u] += step
        s.v[i] = rest[u] * step
    for f in range(len(s.z)):
        part = 0.0
        for i in range(count):
            part += s.v[i] * own[f, i]
        pairs[f] -= part


@fast_kernel
def losses_of(
    begin: int, end: int, indptr: Any, indices: Any, B: Any, D: Any, total: Any, gram: Any,
    target: float, means: Any, losses: Any,
) -> None:  # fmt: skip
    """means[u] = b_u.p_u, and losses[u] = the mean of (target - b_u.(d_i - d_j))^2 over its pairs.

    0 for a user who has no item, or all.
    """
    m, size = D.shape
    for u in range(begin, end):
        count = indptr[u + 1] - indptr[u]
        means[u], losses[u] = 0.0, 0.0
        if count == 0 or count == m:
            continue
        mine, squares = 0.0, 0.0
        for at in range(indptr[u], indptr[u + 1]):
            item, dot = indices[at], 0.0
            for f in range(size):
                dot += np.float64(B[u, f]) * np.float64(D[item, f])
            mine += dot
            squares += dot * dot
        every, spread = 0.0, 0.0
        for f in range(size):
            every += B[u, f] * total[f]
            part = 0.0
            for g in range(size):
                part += gram[f, g] * B[u, g]
            spread += B[u, f] * part
        p, q = mine / count, (every - mine) / (m - count)
        second = squares / count + (spread - squares) / (m - count) - 2.0 * p * q
        means[u], losses[u] = p, target * target - 2.0 * target * (p - q) + second
