"""Steps over whole tables: Adam (Kingma and Ba 2015), and Adagrad with one number a row.

Both add the L2 term of the rows that came: shrink (n,) times the row itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.kernels import fast_kernel

_KEEP, _KEEP_SQUARE, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


class Moments(NamedTuple):
    """The means of the gradients and of their squares (n, d); step: the number of this, from 1."""

    first: Any
    second: Any
    step: Any


@fast_kernel
def adam(
    rows: Any, gradient: Any, shrink: Any, moments: Any, rate: Any, begin: Any, end: Any
) -> None:
    """rows -= rate mean / (sqrt(mean of squares) + tiny), both means freed of their start at 0.

    rows, gradient (n, d); the moments are taken on in place.
    """
    first, second, step = moments.first, moments.second, moments.step
    one = np.float32(1)
    size = rows.shape[1]
    unbias = one / (one - _KEEP ** np.float32(step))
    unbias_square = one / (one - _KEEP_SQUARE ** np.float32(step))
    for row in range(begin, end):
        weight = shrink[row]
        for f in range(size):
            slope = gradient[row, f] + weight * rows[row, f]
            mean = _KEEP * first[row, f] + (one - _KEEP) * slope
            square = _KEEP_SQUARE * second[row, f] + (one - _KEEP_SQUARE) * slope * slope
            first[row, f], second[row, f] = mean, square
            rows[row, f] -= rate * (mean * unbias) / (np.sqrt(square * unbias_square) + _TINY)


@fast_kernel
def adagrad(
    rows: Any, gradient: Any, shrink: Any, grad_sq_sum: Any, rate: Any, begin: Any, end: Any
) -> None:
    """row -= rate slope / sqrt(sum of the squared lengths of its gradients so far)."""
    size = rows.shape[1]
    for row in range(begin, end):
        weight, square = shrink[row], np.float32(0)
        for f in range(size):
            slope = gradient[row, f] + weight * rows[row, f]
            square += slope * slope
        if square > np.float32(0):
            grad_sq_sum[row] += square
            length = rate / np.sqrt(grad_sq_sum[row])
            for f in range(size):
                rows[row, f] -= length * (gradient[row, f] + weight * rows[row, f])
