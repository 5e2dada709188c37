"""The leading directions of item weights: for models that have neither codes nor vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.blas import one_blas_thread

_DIRECTIONS = 8
_ROUNDS = 24
_MOST = 4e9
"""Products of a weight and a number, in all rounds: fewer rounds where there are many weights."""


def weight_directions(weights: Any) -> npt.NDArray[np.float32]:
    """Leading directions (m, 8) of the weights between m items, sparse or dense; unit columns.

    Subspace iteration with S = D^-1/2 (|W| + |W|') D^-1/2, D the row sums, without its first
    direction sqrt(D), which tells apart nothing: items that speak for the same items lie near each
    other. It starts from fixed numbers and has one order of sums: same weights, same bits.

    >>> two = np.array([[0, 2, 0, 0], [2, 0, .1, 0], [0, .1, 0, 2], [0, 0, 2, 0]], np.float32)
    >>> np.sign(weight_directions(two)[:, 0]).tolist() in ([1, 1, -1, -1], [-1, -1, 1, 1])
    True
    """
    size, first = _symmetric(weights)
    n, count = len(first), getattr(weights, "nnz", None) or max(1, np.size(weights))
    wanted = max(1, min(_DIRECTIONS, n - 1))
    rounds = int(np.clip(_MOST / (count * wanted * 2), 4, _ROUNDS))
    with one_blas_thread():
        block = np.sin(np.outer(np.arange(1, n + 1), np.arange(1, wanted + 1)) * 1.6180339887)
        for _ in range(rounds):
            block = _orthonormal(size(block) + block, first)  # + block: no eigenvalue below 0
        _, turned = np.linalg.eigh(block.T @ size(block))
        return np.ascontiguousarray(block @ turned[:, ::-1], dtype=np.float32)


def _symmetric(weights: Any) -> tuple[Any, npt.NDArray[np.float64]]:
    """The product with S, and its first direction."""
    W = abs(weights)
    degrees = np.asarray(W.sum(axis=0)).ravel() + np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(np.maximum(degrees, 1e-12)).astype(np.float64)
    inverse = (1 / np.where(degrees > 0, root, np.inf))[:, None]
    first = np.where(degrees > 0, root, 0)
    T = W.T.tocsr() if hasattr(W, "tocsr") else W.T

    def product(block: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        scaled = (block * inverse).astype(np.float32)
        return np.asarray(inverse * (W @ scaled + T @ scaled), dtype=np.float64)

    return product, first / max(float(np.linalg.norm(first)), 1e-12)


def _orthonormal(
    block: npt.NDArray[np.float64], first: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Orthonormal columns of the same span, without `first`."""
    rest = block - np.outer(first, first @ block)
    q, r = np.linalg.qr(rest)
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))
