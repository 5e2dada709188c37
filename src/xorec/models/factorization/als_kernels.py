"""The kernel of ALS: each row's least squares problem, solved exactly.

In axes where the Gram matrix of the other side is diagonal, a row's problem is

    minimise over b   sum over its pairs i of (1 - b.x_i)^2 + sum over f of s_f b_f^2.

With Y = (x_if / sqrt(s_f)) over its pairs, and v_f = sqrt(s_f) b_f, that is |1 - Y v|^2 + |v|^2, so

    v = (I + Y'Y)^-1 Y'1 = Y' w,   w = (I + Y Y')^-1 1.

Where pairs have weights w, row i of Y and entry i of 1 are times sqrt(w_i), and n is their sum.

The smaller of the two systems is solved: one row per pair, or one per dimension. Both have
no eigenvalue below 1, which float32 bears well. The least value is n - 1'Y v = 1'w.

All helpers are inlined: a fast kernel that calls another gives other last digits in the process
that compiles it than in those that load it from the disk.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_kernel, inlined

_WIDE = 256  # pairs taken at once where there are many: they stay in the cache
_APART = 16  # between rows of the buffer: a power of two would put its columns on one cache line


class RowPairs(NamedTuple):
    """Row r has the others indices[indptr[r]:indptr[r + 1]]; roots: of their weights, or empty."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    roots: npt.NDArray[np.float32]


@fast_kernel
def solve_rows(
    rows: Any,
    pairs: Any,
    others: Any,
    spread: Any,
    ridge: Any,
    found: Any,
    values: Any,
) -> None:
    """The best vectors of `rows` into found (rows, d), their least values into values (rows,).

    pairs: `RowPairs`; others (m, d): the other side; s_f = spread[f] + ridge[r].
    """
    indptr = pairs.indptr
    size = others.shape[1]
    padded = (size + 3) // 4 * 4
    system = np.empty((padded, padded), dtype=others.dtype)
    Y = np.empty((padded, max(size, _WIDE) + _APART), dtype=others.dtype)
    scale = np.empty(size, dtype=others.dtype)
    right = np.empty(padded, dtype=others.dtype)
    for at in range(len(rows)):
        row = rows[at]
        own = pairs.indices[indptr[row] : indptr[row + 1]]
        roots = pairs.roots[indptr[row] : indptr[row + 1]]  # none where all are 1
        for f in range(size):
            scale[f] = 1 / np.sqrt(spread[f] + ridge[row])
        if len(own) == 0:
            found[at] = 0
            values[at] = 0
        elif len(own) <= size:
            values[at] = _by_pairs(own, roots, others, scale, Y, system, right, found[at])
        else:
            values[at] = _by_dimensions(own, roots, others, scale, Y, system, right, found[at])


@inlined
def _by_pairs(
    pairs: Any, roots: Any, others: Any, scale: Any, Y: Any, system: Any, right: Any, found: Any
) -> Any:
    """w, then v = Y'w; Y has a row for each pair."""
    count, size = len(pairs), others.shape[1]
    padded = (count + 3) // 4 * 4
    for p in range(count):
        for f in range(size):
            Y[p, f] = others[pairs[p], f] * scale[f]
    for p in range(len(roots)):
        for f in range(size):
            Y[p, f] *= roots[p]
    Y[count:padded, :size] = 0
    system[:padded, :padded] = 0
    _add_products(Y, padded, size, system)
    for p in range(padded):
        system[p, p] += 1
        right[p] = p < count
    for p in range(len(roots)):
        right[p] = roots[p]
    _solve(system, padded, right)
    found[:] = 0
    value = 0.0
    for p in range(count):
        value += right[p] * roots[p] if len(roots) else right[p]
        for f in range(size):
            found[f] += right[p] * Y[p, f]
    for f in range(size):
        found[f] *= scale[f]
    return value


@inlined
def _by_dimensions(
    pairs: Any, roots: Any, others: Any, scale: Any, Y: Any, system: Any, right: Any, found: Any
) -> Any:
    """v itself; here Y is transposed, a row for each dimension, some pairs at a time."""
    count, size = len(pairs), others.shape[1]
    padded = (size + 3) // 4 * 4
    system[:] = 0
    Y[size:padded] = 0
    right[:] = 0
    for begin in range(0, count, _WIDE):
        width = min(_WIDE, count - begin)
        for p in range(width):
            i = pairs[begin + p]
            for f in range(size):
                Y[f, p] = others[i, f] * scale[f]
        for f in range(size):
            total = Y.dtype.type(0)
            if len(roots):
                for p in range(width):
                    Y[f, p] *= roots[begin + p]
                    total += Y[f, p] * roots[begin + p]
            else:
                for p in range(width):
                    total += Y[f, p]
            right[f] += total
        _add_products(Y, padded, width, system)
    for f in range(padded):
        system[f, f] += 1
    for f in range(size):
        found[f] = right[f]
    _solve(system, padded, right)
    value = float(count)
    if len(roots):
        value = 0.0
        for p in range(count):
            value += roots[p] * roots[p]
    for f in range(size):
        value -= found[f] * right[f]
        found[f] = right[f] * scale[f]
    return value


@inlined
def _add_products(Y: Any, count: Any, width: Any, system: Any) -> None:
    """system[p, q] += Y[p].Y[q] for q <= p (and a little above); count is a multiple of 4."""
    for p in range(0, count, 2):
        for q in range(0, p + 2, 4):
            _add_dots(system, p, q, Y, width, Y.dtype.type(1))


@inlined
def _solve(system: Any, count: Any, right: Any) -> None:
    """right becomes system^-1 right by Cholesky's LL'; only the lower half is read, and lost.

    Four columns of L at a time, each less the products of what stands left of it. The diagonal
    keeps 1 / L_jj. count is a multiple of 4.
    """
    for j in range(0, count, 4):
        for i in range(j, count, 2):
            _add_dots(system, i, j, system, j, system.dtype.type(-1))
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
def _add_dots(system: Any, p: Any, q: Any, Y: Any, width: Any, sign: Any) -> None:
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
