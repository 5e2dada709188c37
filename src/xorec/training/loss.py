"""The two terms of a triplet's loss, as functions of one of its codes, and their quadratic bound.

Each term of the loss (the form "triplet") is l(t), and t is linear in any one code z of its
triplet: t = w.z + s. A term of weight omega (lambda times that for y) adds to the bound
z'Az + c'z + constant of a user or an item, at the point xi where the bound touches it (phi for x,
eta for y), with p the curvature,

    A += omega p(xi) w w'        c += omega (2 p(xi) s + 1/2) w

Codes (B, D) are +-1 in int8, (n, d) and (m, d); the triplets of a block are given by their numbers;
loss: (roles, lambda_), from `role_tables`. A (d, d) and c (d,), float64 or float32, are
overwritten. The slow twin is `tests/support/references/bound.py: assemble`.

`gamma` is tan(beta), the root of what the formulas square; `docs/method.md` lists equations,
functions and tests. `logistic_loss_of`, `sigmoid_of` and `curvature_of` are compiled into the
caller, in the type of the argument; with fast arithmetic they make no infinity or NaN.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.kernels import fast_helper, inlined

Margin: TypeAlias = Literal["paper", "geometric"]


def margin_offset(gamma: float, margin: Margin) -> float:
    """The margin's part of y / tau: 0, or the constant of the hinge, 1 - 3 gamma^2.

    >>> margin_offset(1.0, "paper"), margin_offset(1.0, "geometric")
    (0.0, -2.0)
    """
    if margin not in ("paper", "geometric"):
        raise OptionError(f"there is no margin {margin!r}: the margins are paper, geometric.")
    return 1 - 3 * gamma**2 if margin == "geometric" else 0.0


SERIES_BELOW = 2e-3
"""|xi| under which p(xi) is its series: the first term left out is under 1e-18."""


@inlined
def logistic_loss_of(t: Any) -> Any:
    """l(t) = log(1 + e^t)."""
    zero = type(t)(0)
    return max(t, zero) + np.log1p(np.exp(-abs(t)))


@inlined
def sigmoid_of(t: Any) -> Any:
    """sigma(t) = 1 / (1 + e^-t)."""
    one = type(t)(1)
    small = np.exp(-abs(t))
    large = one / (one + small)
    return large if t >= 0 else small * large


@inlined
def curvature_of(xi: Any) -> Any:
    """p(xi) = tanh(|xi|/2) / (4 |xi|), p(0) = 1/8."""
    real = type(xi)
    half = real(0.5) * abs(xi)
    if half < real(0.5 * SERIES_BELOW):
        square = half * half
        series = real(1) - square * (real(1 / 3) - square * real(2 / 15))
        return real(0.125) * series
    return real(0.125) * np.tanh(half) / half


Real = TypeVar("Real", np.float32, np.float64)


def logistic_loss(t: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """l(t) = log(1 + e^t), for any finite t without overflow."""
    return np.logaddexp(t.dtype.type(0), t)


_USER, _POSITIVE, _NEGATIVE = 0, 1, 2
_TOGETHER = 8  # terms added to A at once: A is read and written an eighth as often


class TripletRows(NamedTuple):
    """The rows of all triplets, each (T,)."""

    users: npt.NDArray[np.integer]
    positives: npt.NDArray[np.integer]
    negatives: npt.NDArray[np.integer]


class TangentPoints(NamedTuple):
    """The points where the bounds touch x and y, and the triplets' weights, each (T,)."""

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


def role_tables(
    bits: int, *, temperature: float, gamma: float = 1.0, margin: Margin = "paper"
) -> npt.NDArray[np.float64]:
    """The coefficients of w and s, (3, 2, 4): role, term (x, y), coefficient.

    A triplet has two codes beside the block z. Call them p and q:

        user:      z = b_u,  p = d_j,  q = d_i
        positive:  z = d_i,  p = d_j,  q = b_u
        negative:  z = d_j,  p = b_u,  q = d_i

    Then t = t0 z.p + t1 z.q + t2 p.q + t3: w = t0 p + t1 q and s = t2 p.q + t3. The margin is in
    t3, the temperature in all of y's.
    """
    half, tau = 1 / (2 * bits), temperature / bits
    near, far = tau * (1 + gamma**2), tau * 2 * gamma**2
    offset = temperature * margin_offset(gamma, margin)
    return np.array(
        [
            [[half, -half, 0, 0], [far, -near, far, offset]],
            [[0, -half, half, 0], [far, -near, far, offset]],
            [[half, 0, -half, 0], [far, far, -near, offset]],
        ]
    )
