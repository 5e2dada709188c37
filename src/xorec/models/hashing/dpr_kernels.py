"""The kernels of DPR: the problems of users and of items, and the loss (`coordinate_kernels`).

Users: scale base = D'D / (m - |I_u|), y_i = the items that they have, p and q the means of those
and of all others. Items: base = the sum over u of b_u b_u' / (m - |I_u|), y_i = the users who have
it. Everywhere: pairs (indptr, indices), those of row r are indices[indptr[r]:indptr[r + 1]].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_helper, fast_kernel, kernel
from xorec.models.hashing.coordinate_kernels import (
    Numbers,
    coordinate_descent,
    make_row_problem,
    pair_rows,
)


class Rule(NamedTuple):
    """How a row is solved.

    target: T; users, items: alpha n and beta n, the pull of X and Y; real: numbers, not signs;
    ridge: the weight of a real row's squared norm; passes: over a row's bits, at most.
    """

    target: float
    users: float
    items: float
    ridge: float = 0.0
    real: bool = False
    passes: int = 5


class Items(NamedTuple):
    """What a user's problem needs of the items: D (m, d), the sum of its rows (d,), and D'D."""

    D: npt.NDArray[Any]
    total: Numbers
    gram: Numbers


class Users(NamedTuple):
    """What an item's problem needs of the users: B (n, d), and base = the sum of rest_u b_u b_u'.

    mine, rest (n,): 1 / |I_u| and 1 / (m - |I_u|); 0 for who has no item, or all.
    """

    B: npt.NDArray[Any]
    mine: Numbers
    rest: Numbers
    base: Numbers


class Running(NamedTuple):
    """Kept up to date as items move.

    means (n,): b_u.p_u; total (d,): the sum of all items; pairs (d,): the sum over all users of
    rest_u (target - means_u) b_u.
    """

    means: Numbers
    total: Numbers
    pairs: Numbers


@kernel
def _most(rows: Any, indptr: Any) -> int:
    """The most pairs that a row has, and at least 1."""
    most = 1
    for row in rows:
        most = max(most, indptr[row + 1] - indptr[row])
    return most


@fast_kernel
def solve_users(
    rows: Any, pairs: Any, items: Any, pull: Any, rule: Any, B: Any, found: Any
) -> None:
    """The new codes, or real rows, found (rows, d) of the users `rows` of B (n, d).

    pull (rows, d): alpha n x_u. With the means p of a user's items and q of all others:
    l = target (q - p) - pull.
    """
    indptr, indices = pairs
    m, size = items.D.shape
    s = make_row_problem(_most(rows, indptr), size)
    for at in range(len(rows)):
        u = rows[at]
        begin, count = indptr[u], indptr[u + 1] - indptr[u]
        if count == 0 or count == m:
            for f in range(size):
                found[at, f] = B[u, f]
            continue
        mine, rest, y = 1.0 / count, 1.0 / (m - count), pair_rows(s, count)
        for i in range(count):
            item = indices[begin + i]
            s.weights[i] = mine - rest
            for f in range(size):
                y[f, i] = items.D[item, f]
        for f in range(size):
            together = 0.0
            for i in range(count):
                together += y[f, i]
            s.p[f], s.q[f] = mine * together, rest * (items.total[f] - together)
            s.linear[f] = rule.target * (s.q[f] - s.p[f]) - pull[at, f]
            s.z[f] = B[u, f]
        coordinate_descent(s, y, count, items.gram, rest, rule.ridge, rule.real, rule.passes)
        for f in range(size):
            found[at, f] = s.z[f]


@fast_kernel
def solve_items(
    rows: Any, pairs: Any, users: Any, running: Any, pull: Any, rule: Any, D: Any, found: Any
) -> None:
    """The same of the items `rows` of D (m, d), one after another; pull (rows, d): beta n y_v."""
    indptr, indices = pairs
    size = D.shape[1]
    s = make_row_problem(_most(rows, indptr), size)
    for at in range(len(rows)):
        v = rows[at]
        owners = indices[indptr[v] : indptr[v + 1]]
        count = len(owners)
        y = pair_rows(s, count)
        for f in range(size):
            s.z[f] = D[v, f]
            s.linear[f] = running.pairs[f] - pull[at, f]
        for i in range(count):
            u = owners[i]
            mine, rest, mean = users.mine[u], users.rest[u], running.means[u]
            every = 0.0
            for f in range(size):
                y[f, i] = users.B[u, f]
                every += users.B[u, f] * running.total[f]
            s.weights[i] = mine - rest
            others = rest * (every - mean / mine) if mine > 0.0 else 0.0
            s.v[i] = rest * (rule.target - mean) + mine * (rule.target + others)
        for f in range(size):
            part = 0.0
            for i in range(count):
                part += s.v[i] * y[f, i]
            s.linear[f] -= part
        coordinate_descent(s, y, count, users.base, 1.0, rule.ridge, rule.real, rule.passes)
        _move(s, y, owners, users, running, D[v], found[at])


@fast_helper
def _move(s: Any, y: Any, owners: Any, users: Any, running: Any, old: Any, new: Any) -> None:
    """Write the item's row s.z to `new` (d,), and bring `running` up to date."""
    count = len(owners)
    for i in range(count):
        s.v[i] = 0.0
    for f in range(len(s.z)):
        new[f] = s.z[f]
        step = s.z[f] - old[f]
        if step != 0.0:
            running.total[f] += step
            for i in range(count):
                s.v[i] += step * y[f, i]
    for i in range(count):
        u = owners[i]
        step = users.mine[u] * s.v[i]
        running.means[u] += step
        s.v[i] = users.rest[u] * step
    for f in range(len(s.z)):
        part = 0.0
        for i in range(count):
            part += s.v[i] * y[f, i]
        running.pairs[f] -= part


@fast_kernel
def measure_users(
    begin: int, end: int, pairs: Any, B: Any, items: Any, target: float, means: Any, losses: Any
) -> None:
    """means[u] = b_u.p_u, and losses[u] = the mean of (target - b_u.(d_i - d_j))^2 over its pairs.

    0 for a user who has no item, or all.
    """
    indptr, indices = pairs
    m, size = items.D.shape
    for u in range(begin, end):
        count = indptr[u + 1] - indptr[u]
        means[u], losses[u] = 0.0, 0.0
        if count == 0 or count == m:
            continue
        mine, squares = 0.0, 0.0
        for at in range(indptr[u], indptr[u + 1]):
            item, dot = indices[at], 0.0
            for f in range(size):
                dot += np.float64(B[u, f]) * np.float64(items.D[item, f])
            mine += dot
            squares += dot * dot
        every, spread = 0.0, 0.0
        for f in range(size):
            every += B[u, f] * items.total[f]
            part = 0.0
            for g in range(size):
                part += items.gram[f, g] * B[u, g]
            spread += B[u, f] * part
        p, q = mine / count, (every - mine) / (m - count)
        second = squares / count + (spread - squares) / (m - count) - 2.0 * p * q
        means[u], losses[u] = p, target * target - 2.0 * target * (p - q) + second
