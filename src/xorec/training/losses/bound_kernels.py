"""A and c of one user or one item from lists of triplets: z'Az + c'z bounds their loss.

A term t = w.z + s of weight omega (lambda times that for y) adds, at the point xi where its bound
touches it (xi is phi for x and eta for y), with p the curvature (`logistic_kernels`),

    A += omega p(xi) w w'        c += omega (2 p(xi) s + 1/2) w

Everywhere here: codes (B, D), +-1 in int8, (n, d) and (m, d); the triplets of a block are given by
their numbers, in any integer type; loss (roles, lambda_), from `bound.role_tables`. A (d, d) and
c (d,) are overwritten; they may be float64 or float32, which rounds only there. The slow twin is
`tests/support/references/bound.py: assemble`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_helper, inlined
from xorec.training.losses.logistic_kernels import curvature_of

_USER, _POSITIVE, _NEGATIVE = 0, 1, 2
_TOGETHER = 8  # terms added to A at once: A is read and written an eighth as often


class TripletRows(NamedTuple):
    """The rows of all triplets, each (T,)."""

    users: npt.NDArray[np.integer]
    positives: npt.NDArray[np.integer]
    negatives: npt.NDArray[np.integer]


class TangentPoints(NamedTuple):
    """Where the bounds touch x and y, and what the triplets weigh, each (T,)."""

    phi: npt.NDArray[np.float64]
    eta: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]


@fast_helper
def assemble_user(
    A: Any, c: Any, codes: Any, rows: Any, points: Any, numbers: Any, loss: Any
) -> None:
    """A, c of a user whose triplets have these numbers. O(T d^2)."""
    _, D = codes
    A[:] = 0
    c[:] = 0
    _add(A, c, (D, rows.negatives), (D, rows.positives), points, numbers, _USER, loss)
    _mirror(A)


@fast_helper
def assemble_item(
    A: Any, c: Any, codes: Any, rows: Any, points: Any, numbers: Any, loss: Any
) -> None:
    """A, c of an item: numbers (as the positive, as the negative) of its triplets."""
    B, D = codes
    as_positive, as_negative = numbers
    A[:] = 0
    c[:] = 0
    _add(A, c, (D, rows.negatives), (B, rows.users), points, as_positive, _POSITIVE, loss)
    _add(A, c, (B, rows.users), (D, rows.positives), points, as_negative, _NEGATIVE, loss)
    _mirror(A)


@fast_helper
def _add(A: Any, c: Any, p: Any, q: Any, points: Any, numbers: Any, role: int, loss: Any) -> None:
    """Add the terms of one role to c and to the lower triangle of A; lambda_ = 0: x alone.

    p, q: (codes, rows) of the two other codes of each triplet.
    """
    p_codes, p_rows = p
    q_codes, q_rows = q
    roles, lambda_ = loss
    table, size, filled, parts = roles[role], len(c), 0, 1 if lambda_ == 0 else 2
    w = np.zeros((_TOGETHER, size), A.dtype)
    scale = np.zeros(_TOGETHER, A.dtype)
    for t in numbers:
        i, j = p_rows[t], q_rows[t]
        product = _dot(p_codes, i, q_codes, j)
        for part in range(parts):
            xi = np.float64(points.phi[t]) if part == 0 else np.float64(points.eta[t])
            weight = points.weights[t]
            omega = np.float64(weight) if part == 0 else np.float64(lambda_ * weight)
            curvature = curvature_of(xi)
            shift = table[part, 2] * product + table[part, 3]
            linear = omega * (2 * curvature * shift + 0.5)
            t0, t1 = table[part, 0], table[part, 1]
            for f in range(size):
                value = t0 * p_codes[i, f] + t1 * q_codes[j, f]
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
