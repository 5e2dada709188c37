"""A and c of one user or one item from lists of triplets: the fast twin of `bound.assemble`.

Shapes: B (n, d) and D (m, d) codes of +-1 in int8; users, positives, negatives (T,) the rows of
all triplets; phi, eta, weights (T,) their points and weights; `tables` from `bound.role_tables`.
The triplets of a block are given by their numbers, in any integer type. A (d, d) and c (d,) are
overwritten; they may be float64 or float32, which rounds only there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, inlined
from xorec.training.losses.logistic_kernels import curvature_of

_USER, _POSITIVE, _NEGATIVE = 0, 1, 2
_TOGETHER = 8  # terms added to A at once: A is read and written an eighth as often


@fast_helper
def assemble_user(
    A: Any,
    c: Any,
    D: Any,
    positives: Any,
    negatives: Any,
    phi: Any,
    eta: Any,
    weights: Any,
    triplets: Any,
    tables: Any,
    lambda_: Any,
) -> None:
    """A, c of a user whose triplets have the numbers `triplets`. O(T d^2)."""
    A[:] = 0
    c[:] = 0
    _add(A, c, D, negatives, D, positives, phi, eta, weights, triplets, tables[_USER], lambda_)
    _mirror(A)


@fast_helper
def assemble_item(
    A: Any,
    c: Any,
    B: Any,
    D: Any,
    users: Any,
    positives: Any,
    negatives: Any,
    phi: Any,
    eta: Any,
    weights: Any,
    as_positive: Any,
    as_negative: Any,
    tables: Any,
    lambda_: Any,
) -> None:
    """A, c of an item: positive of the triplets `as_positive`, negative of `as_negative`."""
    A[:] = 0
    c[:] = 0
    table = tables[_POSITIVE]
    _add(A, c, D, negatives, B, users, phi, eta, weights, as_positive, table, lambda_)
    table = tables[_NEGATIVE]
    _add(A, c, B, users, D, positives, phi, eta, weights, as_negative, table, lambda_)
    _mirror(A)


@fast_kernel
def refresh(
    phi: Any,
    eta: Any,
    B: Any,
    D: Any,
    users: Any,
    positives: Any,
    negatives: Any,
    triplets: Any,
    tables: Any,
) -> None:
    """phi = x and eta = y of `triplets` at the present codes, where the bound is tight."""
    of_x, of_y = tables[_USER, 0], tables[_USER, 1]
    for t in triplets:
        u, i, j = users[t], positives[t], negatives[t]
        uj, ui, ij = _dot(B, u, D, j), _dot(B, u, D, i), _dot(D, i, D, j)
        phi[t] = of_x[0] * uj + of_x[1] * ui + of_x[2] * ij + of_x[3]
        eta[t] = of_y[0] * uj + of_y[1] * ui + of_y[2] * ij + of_y[3]


@fast_helper
def _add(
    A: Any,
    c: Any,
    p_codes: Any,
    p_rows: Any,
    q_codes: Any,
    q_rows: Any,
    phi: Any,
    eta: Any,
    weights: Any,
    triplets: Any,
    table: Any,
    lambda_: Any,
) -> None:
    """Add the terms of one role to c and to the lower triangle of A; lambda_ = 0: x alone."""
    size, filled, parts = len(c), 0, 1 if lambda_ == 0 else 2
    w = np.zeros((_TOGETHER, size), A.dtype)
    scale = np.zeros(_TOGETHER, A.dtype)
    for t in triplets:
        p, q = p_rows[t], q_rows[t]
        product = _dot(p_codes, p, q_codes, q)
        for part in range(parts):
            xi = np.float64(phi[t]) if part == 0 else np.float64(eta[t])
            omega = np.float64(weights[t]) if part == 0 else np.float64(lambda_ * weights[t])
            curvature = curvature_of(xi)
            shift = table[part, 2] * product + table[part, 3]
            linear = omega * (2 * curvature * shift + 0.5)
            t0, t1 = table[part, 0], table[part, 1]
            for f in range(size):
                value = t0 * p_codes[p, f] + t1 * q_codes[q, f]
                w[filled, f] = value
                c[f] += linear * value
            scale[filled] = omega * curvature
            filled += 1
        if filled == _TOGETHER:
            _add_squares(A, w, scale)
            filled = 0
    if filled > 0:
        scale[filled:] = 0
        _add_squares(A, w, scale)


@fast_helper
def _add_squares(A: Any, w: Any, scale: Any) -> None:
    """A += sum over 8 rows of scale_k w_k w_k', the lower triangle alone."""
    for r in range(len(A)):
        g0, g1 = scale[0] * w[0, r], scale[1] * w[1, r]
        g2, g3 = scale[2] * w[2, r], scale[3] * w[3, r]
        g4, g5 = scale[4] * w[4, r], scale[5] * w[5, r]
        g6, g7 = scale[6] * w[6, r], scale[7] * w[7, r]
        for s in range(r + 1):
            lower = g0 * w[0, s] + g1 * w[1, s] + g2 * w[2, s] + g3 * w[3, s]
            upper = g4 * w[4, s] + g5 * w[5, s] + g6 * w[6, s] + g7 * w[7, s]
            A[r, s] += lower + upper


@inlined
def _mirror(A: Any) -> None:
    for r in range(len(A)):
        for s in range(r):
            A[s, r] = A[r, s]


@inlined
def _dot(one: Any, row: Any, other: Any, column: Any) -> Any:
    total = np.int32(0)
    for f in range(one.shape[1]):
        total += np.int32(one[row, f]) * np.int32(other[column, f])
    return total
