"""The exact change of the loss by each single bit of a user or an item.

For one triplet and one role the change takes four values only, by r = z_k p_k and s = z_k q_k of
the bit (`problem` has the names). Four values are a polynomial in two signs,

    change_k = a0 + a1 r + a2 s + a3 r s = a0 + z_k (a1 p_k + a2 q_k) + a3 p_k q_k,

so a triplet costs a few looks into the tables and one pass over d numbers for all bits at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, inlined
from xorec.training.discrete.triplet_kernels import AS_NEGATIVE, AS_POSITIVE, AS_USER, USER

TOGETHER = 8  # rows added to a sum at once: the sum is read and written an eighth as often


@inlined
def _coefficients(tables: Any, role: Any, X: Any, Y: Any) -> Any:
    """a0, a1, a2, a3 of one triplet."""
    fx, fy, moves = tables.loss_x, tables.loss_y, tables.moves
    x_sum, x_apart = moves[role, 0] + moves[role, 1], moves[role, 0] - moves[role, 1]
    y_sum, y_apart = moves[role, 2] + moves[role, 3], moves[role, 2] - moves[role, 3]
    both, neither = fx[X - x_sum] + fy[Y - y_sum], fx[X + x_sum] + fy[Y + y_sum]
    first, second = fx[X - x_apart] + fy[Y - y_apart], fx[X + x_apart] + fy[Y + y_apart]
    even, odd = both + neither, first + second
    up, across = both - neither, first - second
    a0 = 0.25 * (even + odd) - (fx[X] + fy[Y])
    return a0, 0.25 * (up + across), 0.25 * (up - across), 0.25 * (even - odd)


@fast_helper
def _add_rows(total: Any, a: Any, rows: Any) -> None:
    """total += the sum of a_i rows_i, over eight rows; a is zero afterwards."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    a4, a5, a6, a7 = a[4], a[5], a[6], a[7]
    for f in range(len(total)):
        lower = (a0 * rows[0, f] + a1 * rows[1, f]) + (a2 * rows[2, f] + a3 * rows[3, f])
        upper = (a4 * rows[4, f] + a5 * rows[5, f]) + (a6 * rows[6, f] + a7 * rows[7, f])
        total[f] += lower + upper
    for i in range(TOGETHER):
        a[i] = 0.0


@fast_helper
def _add_role(
    role: int, triplets: Any, begin: int, end: int, p_codes: Any, q_codes: Any, tables: Any,
    sums: Any,
) -> float:  # fmt: skip
    """Add the triplets [begin, end) of one role to sums (3, d), of z and of products of signs.

    Returns the sum of a0. Triplets of one pair follow each other and have one q, which is added
    once for all of them.
    """
    linear, product = sums[1], sums[2]
    d, at, q_at, last, total = len(linear), 0, -1, -1, 0.0
    a1, a2, a3 = np.zeros(TOGETHER), np.zeros(TOGETHER), np.zeros(TOGETHER)
    p_rows = np.zeros((TOGETHER, d), np.int8)
    q_rows, pq_rows = np.zeros((TOGETHER, d), np.int8), np.zeros((TOGETHER, d), np.int8)
    for t in range(begin, end):
        p, q = triplets.p[t], triplets.q[t]
        if q != last:
            last = q
            q_at += 1
            if q_at == TOGETHER:
                _add_rows(linear, a2, q_rows)
                q_at = 0
            for f in range(d):
                q_rows[q_at, f] = q_codes[q, f]
        one, with_p, with_q, with_both = _coefficients(tables, role, triplets.X[t], triplets.Y[t])
        total += one
        a1[at], a3[at] = with_p, with_both
        a2[q_at] += with_q
        for f in range(d):
            p_rows[at, f] = p_codes[p, f]
            pq_rows[at, f] = (p_codes[p, f] ^ q_rows[q_at, f]) + np.int8(1)  # the product of signs
        at += 1
        if at == TOGETHER:
            _add_rows(linear, a1, p_rows)
            _add_rows(product, a3, pq_rows)
            at = 0
    _add_rows(linear, a1, p_rows)
    _add_rows(linear, a2, q_rows)
    _add_rows(product, a3, pq_rows)
    return total


@fast_helper
def changes(
    kind: int, z: Any, triplets: Any, ends: tuple[int, int], problem: Any, sums: Any
) -> None:
    """What flipping each bit of z would change: sums[0] (d,), of scratch sums (3, d).

    ends: of the triplets of the first role, and of all (`gather_triplets`).
    """
    B, D, tables = problem.codes.B, problem.codes.D, problem.tables
    first, n = ends
    for f in range(len(z)):
        sums[1, f], sums[2, f] = 0.0, 0.0
    if kind == USER:
        base = _add_role(AS_USER, triplets, 0, n, D, D, tables, sums)
    else:
        base = _add_role(AS_POSITIVE, triplets, 0, first, D, B, tables, sums)
        base += _add_role(AS_NEGATIVE, triplets, first, n, B, D, tables, sums)
    for f in range(len(z)):
        sums[0, f] = base + z[f] * sums[1, f] + sums[2, f]
