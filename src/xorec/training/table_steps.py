"""Steps over whole tables: Adam (Kingma and Ba 2015), and Adagrad with one number a row.

Both add the L2 term of the rows that came: shrink (n,) times the row itself.

Means over the epochs: after epoch t the mean moves by (1 + LATE) / (t + LATE) of the way to the
rows (polynomial-decay averaging, Shamir & Zhang 2013): the last quarter of the epochs has about two
thirds of the weight. Means remove the noise of steps that do not shrink.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import fast_kernel
from xorec.training.epochs import Arrays

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


LATE = 3
_ROWS = 1 << 16
"""Rows that are moved at once."""
_DONE = "epochs_averaged"


def start_means(arrays: Arrays, names: tuple[str, ...]) -> None:
    """Add arrays for the means of these."""
    arrays[_DONE] = np.zeros(1, dtype=np.int64)
    for name in names:
        arrays[f"mean_{name}"] = np.zeros_like(arrays[name])


def add_to_means(arrays: Arrays) -> None:
    """Add the rows after an epoch to the means, in place."""
    arrays[_DONE] += 1
    share = np.float32((1 + LATE) / (int(arrays[_DONE][0]) + LATE))
    for name in (name for name in arrays if f"mean_{name}" in arrays):
        rows, mean = arrays[name], arrays[f"mean_{name}"]
        for begin in range(0, len(rows), _ROWS):
            part = slice(begin, begin + _ROWS)
            mean[part] += share * (rows[part] - mean[part])


def mean_of(arrays: Arrays, name: str) -> npt.NDArray[np.float32] | None:
    """The mean; None as long as no epoch is done."""
    return arrays[f"mean_{name}"] if arrays[_DONE][0] else None
