"""CML's second part: axes of the space that do not repeat each other.

One step for all rows against the gradient of  weight sum_{a != b} C_ab^2, which is
4 weight / N (x - mean) C without C's diagonal, C the covariance of the N rows of users and items.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from xorec.core.blas import one_blas_thread
from xorec.training.checkpoint import Arrays

_PIECE = 16_384
_TINY = 1e-8


def decorrelate(arrays: Arrays, weight: float, rate: float) -> None:
    """Move user_vectors and item_vectors in place, by Adagrad.

    A row that has not moved yet stays: it has no pairs, and its first step would be a full one.
    """
    with one_blas_thread():  # one order of summing, however many threads
        _step(arrays, weight, rate)


def _step(arrays: Arrays, weight: float, rate: float) -> None:
    kinds = ("user", "item")
    total = sum(len(arrays[f"{kind}_vectors"]) for kind in kinds)
    size = arrays["user_vectors"].shape[1]
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for kind in kinds:
        for part in _pieces(arrays[f"{kind}_vectors"]):
            mean += part.sum(axis=0, dtype=np.float64) / total
    for kind in kinds:
        for part in _pieces(arrays[f"{kind}_vectors"]):
            centred = part - mean
            covariance += centred.T @ centred / total
    np.fill_diagonal(covariance, 0)
    for kind in kinds:
        pieces = zip(
            _pieces(arrays[f"{kind}_vectors"]), _pieces(arrays[f"{kind}_grad_sq_sum"]), strict=True
        )
        for part, grad_sq_sum in pieces:
            gradient = 4 * weight / total * (part - mean) @ covariance
            gradient[grad_sq_sum == 0] = 0
            grad_sq_sum += np.sum(gradient**2, axis=1).astype(np.float32)
            moved = part - rate * gradient / np.sqrt(grad_sq_sum + _TINY)[:, None]
            part[:] = moved / np.maximum(1, np.linalg.norm(moved, axis=1, keepdims=True))


def _pieces(rows: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    """Views of some rows after another, so that no large copy is made."""
    for begin in range(0, len(rows), _PIECE):
        yield rows[begin : begin + _PIECE]
