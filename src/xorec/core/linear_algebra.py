"""The inverse of a large symmetric matrix, in its own place, with the same bits for any threads.

BLAS cuts a product by the number of its threads, and the cut can change the last bits. Here the
cut is fixed, each piece is a product by one BLAS thread, and the pool's threads share the pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import XorecError
from xorec.core.threads import ThreadPool

TILE = 256
_WIDE = 4096  # columns of a piece


def negative_inverse(A: npt.NDArray[Any], pool: ThreadPool) -> None:
    """A, symmetric positive definite of which the lower half is read, becomes -A^-1.

    Gauss-Jordan's sweeps, a tile K of rows and columns at a time (Goodnight 1979). With
    W = A[:, K] A[K, K]^-1, a sweep takes

        A[I, J] to A[I, J] - W[I] A[J, K]',  A[I, K] to W[I],  A[K, K] to -A[K, K]^-1,

    and keeps A symmetric, so half of it will do: n^3 operations, as by Cholesky.
    """
    from threadpoolctl import threadpool_limits

    n = len(A)
    column, scaled = np.empty((2, n, min(n, TILE)), dtype=A.dtype)
    for at in range(_tiles(n)):
        _mirror_tile(A, at)
    with threadpool_limits(1, user_api="blas"):
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
    from scipy.linalg import lapack

    double = A.dtype == np.float64
    potrf: Any = lapack.dpotrf if double else lapack.spotrf
    potri: Any = lapack.dpotri if double else lapack.spotri
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
