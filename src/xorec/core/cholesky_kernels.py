"""Cholesky's LL' of small matrices inside kernels: parts of each kernel that calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import inlined


@inlined
def solve_spd(system: Any, count: Any, right: Any) -> None:
    """right becomes system^-1 right by Cholesky's LL'; only the lower half is read, and lost.

    Four columns of L at a time, each less the products of what stands left of it. The diagonal
    keeps 1 / L_jj. count is a multiple of 4.
    """
    for j in range(0, count, 4):
        for i in range(j, count, 2):
            add_dots(system, i, j, system, j, system.dtype.type(-1))
        for c in range(j, j + 4):
            for t in range(j, c):
                system[c, c] -= system[c, t] * system[c, t]
            system[c, c] = 1 / np.sqrt(system[c, c])
            for i in range(c + 1, j + 4):
                for t in range(j, c):
                    system[i, c] -= system[i, t] * system[c, t]
                system[i, c] *= system[c, c]
        d0, d1 = system[j, j], system[j + 1, j + 1]
        d2, d3 = system[j + 2, j + 2], system[j + 3, j + 3]
        l10, l20, l30 = system[j + 1, j], system[j + 2, j], system[j + 3, j]
        l21, l31, l32 = system[j + 2, j + 1], system[j + 3, j + 1], system[j + 3, j + 2]
        for i in range(j + 4, count):
            x0 = system[i, j] * d0
            x1 = (system[i, j + 1] - x0 * l10) * d1
            x2 = (system[i, j + 2] - x0 * l20 - x1 * l21) * d2
            x3 = (system[i, j + 3] - x0 * l30 - x1 * l31 - x2 * l32) * d3
            system[i, j], system[i, j + 1], system[i, j + 2], system[i, j + 3] = x0, x1, x2, x3
    for r in range(count):
        total = right[r]
        for q in range(r):
            total -= system[r, q] * right[q]
        right[r] = total * system[r, r]
    for r in range(count - 1, -1, -1):
        right[r] *= system[r, r]
        for q in range(r):
            right[q] -= right[r] * system[r, q]


@inlined
def add_dots(system: Any, p: Any, q: Any, Y: Any, width: Any, sign: Any) -> None:
    """system[p:p + 2, q:q + 4] += sign * Y[p:p + 2, :width] Y[q:q + 4, :width]'.

    Eight sums at once: a number that is loaded is used more than once.
    """
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = Y.dtype.type(0)
    for f in range(width):
        x, y = Y[p, f], Y[p + 1, f]
        z0, z1, z2, z3 = Y[q, f], Y[q + 1, f], Y[q + 2, f], Y[q + 3, f]
        a0 += x * z0
        a1 += x * z1
        a2 += x * z2
        a3 += x * z3
        b0 += y * z0
        b1 += y * z1
        b2 += y * z2
        b3 += y * z3
    system[p, q] += sign * a0
    system[p, q + 1] += sign * a1
    system[p, q + 2] += sign * a2
    system[p, q + 3] += sign * a3
    system[p + 1, q] += sign * b0
    system[p + 1, q + 1] += sign * b1
    system[p + 1, q + 2] += sign * b2
    system[p + 1, q + 3] += sign * b3
