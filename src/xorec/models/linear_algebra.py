"""The inverse of a large symmetric matrix, the same bits for any threads; small Cholesky kernels.

BLAS cuts a product by the number of its threads, and the cut can change the last bits. Here the
cut is fixed, each piece is a product by one BLAS thread, and the pool's threads share the pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import XorecError
from xorec.core.kernels import inlined
from xorec.core.threads import ThreadPool, one_blas_thread


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


TILE = 256
_WIDE = 4096  # columns of a piece


def negative_inverse(A: npt.NDArray[Any], pool: ThreadPool) -> None:
    """A, symmetric positive definite of which the lower half is read, becomes -A^-1.

    Gauss-Jordan's sweeps, a tile K of rows and columns at a time (Goodnight 1979). With
    W = A[:, K] A[K, K]^-1, a sweep takes

        A[I, J] to A[I, J] - W[I] A[J, K]',  A[I, K] to W[I],  A[K, K] to -A[K, K]^-1,

    and keeps A symmetric, so half of it will do: n^3 operations, as by Cholesky.
    """
    n = len(A)
    column, scaled = np.empty((2, n, min(n, TILE)), dtype=A.dtype)
    for at in range(_tiles(n)):
        _mirror_tile(A, at)
    with one_blas_thread():
        for begin in range(0, n, TILE):
            tile = slice(begin, min(begin + TILE, n))
            _sweep(A, tile, column[:, : tile.stop - begin], scaled[:, : tile.stop - begin], pool)
    pool.map(_tiles(n), lambda at: _mirror(A, at))


def bytes_needed(n: int, dtype: npt.DTypeLike) -> int:
    """Memory of a matrix of n rows and of its inversion."""
    return (n * n + 2 * n * min(n, TILE)) * np.dtype(dtype).itemsize


def rows_within(memory: int, dtype: npt.DTypeLike) -> int:
    """How many rows a matrix may have to need no more than this memory, about."""
    return max(1, int((TILE**2 + memory / np.dtype(dtype).itemsize) ** 0.5) - TILE)


def _sweep(
    A: npt.NDArray[Any],
    tile: slice,
    column: npt.NDArray[Any],
    scaled: npt.NDArray[Any],
    pool: ThreadPool,
) -> None:
    """One sweep; column and scaled (n, tile) are room for A[:, K] and W."""
    n = len(A)
    column[: tile.start] = A[tile, : tile.start].T
    column[tile.start :] = A[tile.start :, tile]
    inverse = _small_inverse(column[tile])

    def scale(at: int) -> None:
        rows = slice(at * TILE, (at + 1) * TILE)
        np.matmul(column[rows], inverse, out=scaled[rows])

    def reduce(piece: int) -> None:
        at, first = pieces[piece]
        rows = slice(at * TILE, min((at + 1) * TILE, n))
        columns = slice(first, min(first + _WIDE, rows.stop))
        A[rows, columns] -= scaled[rows] @ column[columns].T

    tiles = _tiles(n)
    pieces = [(at, j) for at in range(tiles) for j in range(0, min((at + 1) * TILE, n), _WIDE)]
    pool.map(tiles, scale)
    pool.map(len(pieces), reduce)
    A[tile, : tile.start] = scaled[: tile.start].T
    A[tile.start :, tile] = scaled[tile.start :]
    A[tile, tile] = -inverse


def _small_inverse(A: npt.NDArray[Any]) -> npt.NDArray[Any]:
    from scipy.linalg import get_lapack_funcs

    functions: Any = get_lapack_funcs(("potrf", "potri"), (A,))
    potrf, potri = functions
    factor, failed = potrf(A, lower=True)
    if failed:
        raise XorecError(
            "the matrix cannot be inverted in this precision: take a larger reg, so that it is "
            "safely positive definite."
        )
    half, _ = potri(factor, lower=True)
    return np.ascontiguousarray(np.tril(half) + np.tril(half, -1).T)


def _mirror(A: npt.NDArray[Any], at: int) -> None:
    """The lower half of a row of tiles into the upper half."""
    rows = slice(at * TILE, min((at + 1) * TILE, len(A)))
    A[: rows.start, rows] = A[rows, : rows.start].T
    _mirror_tile(A, at)


def _mirror_tile(A: npt.NDArray[Any], at: int) -> None:
    """The same in a tile on the diagonal."""
    rows = slice(at * TILE, (at + 1) * TILE)
    tile = A[rows, rows]
    tile[:] = np.tril(tile) + np.tril(tile, -1).T


def _tiles(n: int) -> int:
    return -(-n // TILE)
