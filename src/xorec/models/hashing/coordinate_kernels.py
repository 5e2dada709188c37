"""Coordinate descent on a row's quadratic problem whose A is never written out.

A row z, a user or an item, is to minimise z'Az + 2 l'z, where

    A = scale base + sum over its pairs i of w_i y_i y_i' - p q' - q p',   y_i the other's row.

What is kept is v_i = w_i y_i.z of its pairs, base z, p.z and q.z: then (Az)_k costs one pass over
the pairs, not over A, and nothing has to be assembled. A code's bit becomes
-sign(l_k + sum over the others of A_kl z_l), and stays where that is 0; a real number becomes its
own minimiser. Neither raises the value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_helper, inlined, kernel

_ROUNDING = 1e-10  # a slope that is so small a share of its parts is 0

Numbers = npt.NDArray[np.float64]


class RowProblem(NamedTuple):
    """One row's problem: z, l, p, q and the weights w are given, the rest is worked with.

    room: for the rows y_i (`pair_rows`); weights, v (most,); the others (d,).
    """

    room: npt.NDArray[np.float32]
    weights: Numbers
    v: Numbers
    z: Numbers
    linear: Numbers
    spread: Numbers
    squares: Numbers
    p: Numbers
    q: Numbers


@kernel
def make_row_problem(most: int, size: int) -> Any:
    """Room for problems of at most so many rows y_i of `size` numbers."""
    room, weights, v = np.empty(size * _wide(most), np.float32), np.empty(most), np.empty(most)
    z, linear, spread, squares = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    return RowProblem(room, weights, v, z, linear, spread, squares, np.zeros(size), np.zeros(size))


@inlined
def _wide(count: Any) -> Any:
    return (count + 15) // 16 * 16


@inlined
def pair_rows(s: Any, count: Any) -> Any:
    """The room of `count` rows y_i, a column each: (d, at least count), contiguous."""
    wide = _wide(count)
    return s.room[: len(s.z) * wide].reshape((len(s.z), wide))


@fast_helper
def coordinate_descent(
    s: Any, y: Any, count: int, base: Any, scale: float, ridge: float, real: bool, passes: int
) -> None:
    """Improve s.z, of the problem of `count` rows y, in at most so many passes over its numbers.

    s.z, s.weights, s.linear, s.p and s.q are given. ridge: added to A's diagonal for real rows.
    """
    size, v, z = len(s.z), s.v, s.z
    for i in range(count):
        v[i] = 0.0
    at_p, at_q = 0.0, 0.0
    for f in range(size):
        s.spread[f] = 0.0
    for f in range(size):
        square, value, step = 0.0, z[f], scale * z[f]
        for i in range(count):
            v[i] += value * y[f, i]
            square += s.weights[i] * y[f, i] * y[f, i]
        if scale != 0.0:
            for g in range(size):
                s.spread[g] += step * base[f, g]
        s.squares[f] = square
        at_p += value * s.p[f]
        at_q += value * s.q[f]
    for i in range(count):
        v[i] *= s.weights[i]
    for _ in range(passes):
        moved = False
        for k in range(size):
            total = 0.0
            for i in range(count):
                total += y[k, i] * v[i]
            diagonal = scale * base[k, k] + s.squares[k] - 2.0 * s.p[k] * s.q[k]
            whole = s.linear[k] + s.spread[k] + total - s.p[k] * at_q - s.q[k] * at_p
            slope = whole - diagonal * z[k]
            parts = abs(s.linear[k]) + abs(s.spread[k]) + abs(total) + abs(diagonal)
            if real:
                new = -slope / (diagonal + ridge)
            elif abs(slope) <= _ROUNDING * parts:
                continue
            else:
                new = -1.0 if slope > 0.0 else 1.0
            step = new - z[k]
            if step != 0.0:
                moved = True
                z[k] = new
                at_p += step * s.p[k]
                at_q += step * s.q[k]
                for i in range(count):
                    v[i] += step * s.weights[i] * y[k, i]
                if scale != 0.0:
                    for g in range(size):
                        s.spread[g] += step * scale * base[k, g]
        if not moved:
            break
