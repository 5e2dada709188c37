"""Balance and decorrelation (Zhang et al. 2016): the real rows that stand beside codes.

Codes W (n, r) ought to be balanced (each bit is set for half of the rows: W'1 = 0) and decorrelated
(W'W = nI). No codes need have both, so a real X that has both stands beside them, and the
objective gets the term -2 alpha tr(W'X). Given W the best X is known: with J = W - column means =
Q S P' (singular values S), X = sqrt(n) Q P', and tr(W'X) = sqrt(n) times the sum of S.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.threads import one_blas_thread

_CHUNK = 4096
"""Rows in one product: sums have one fixed order."""
_NULL = 1e-9
"""The share of the largest eigenvalue of J'J below which a direction counts as null."""


def balanced(rows: npt.NDArray[Any], seed: int) -> npt.NDArray[Any]:
    """The X (n, r) that maximises tr(rows'X) over X'1 = 0, X'X = nI.

    Null directions of the centred rows are paired with random columns, orthonormal and orthogonal
    to 1 and to Q, drawn from `seed`. (The released code pairs them wrongly: its extra columns come
    last and its null directions first.) Where n <= r only n - 1 columns are orthogonal to 1; then
    X'X is n times a projection on as many directions, with the same trace. float64 for float64
    rows, else float32; the same bytes for any number of threads.
    """
    n, r = rows.shape
    dtype = np.float64 if rows.dtype == np.float64 else np.float32
    if n == 0:
        return np.zeros((0, r), dtype=dtype)
    with one_blas_thread():
        means = rows.sum(axis=0, dtype=np.float64) / n
        gram = np.zeros((r, r))
        for begin in range(0, n, _CHUNK):
            part = rows[begin : begin + _CHUNK] - means
            gram += part.T @ part
        squares, axes = np.linalg.eigh(gram)
        squares, axes = squares[::-1], axes[:, ::-1]
        rank = int(np.count_nonzero(squares > _NULL * max(float(squares[0]), 1e-300)))
        rank = min(rank, n - 1)
        root = np.sqrt(n)
        turn = root * (axes[:, :rank] / np.sqrt(squares[:rank])) @ axes[:, :rank].T
        found = np.empty((n, r), dtype=dtype)
        for begin in range(0, n, _CHUNK):
            found[begin : begin + _CHUNK] = (rows[begin : begin + _CHUNK] - means) @ turn
        missing = min(r, n - 1) - rank
        if missing:
            null = axes[:, rank : rank + missing]
            found += (root * _random_columns(rows - means, axes[:, :rank], null, seed)).astype(
                dtype
            )
    return found


def _random_columns(
    centred: npt.NDArray[np.float64],
    axes: npt.NDArray[np.float64],
    null: npt.NDArray[np.float64],
    seed: int,
) -> npt.NDArray[np.float64]:
    """E null' (n, r), E random orthonormal columns, orthogonal to 1 and to `centred @ axes`."""
    n = len(centred)
    rng = np.random.Generator(np.random.Philox(seed))
    taken = np.column_stack([np.ones(n), centred @ axes])
    drawn = rng.standard_normal((n, null.shape[1]))
    basis, _ = np.linalg.qr(np.column_stack([taken, drawn]))
    return np.asarray(basis[:, taken.shape[1] :] @ null.T)
