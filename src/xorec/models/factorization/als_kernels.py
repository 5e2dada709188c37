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
from xorec.core.linear_algebra import add_dots, solve_spd

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
    solve_spd(system, padded, right)
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
    solve_spd(system, padded, right)
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
            add_dots(system, p, q, Y, width, Y.dtype.type(1))
