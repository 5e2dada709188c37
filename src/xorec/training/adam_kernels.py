"""Steps over whole tables: Adam (Kingma and Ba 2015), and Adagrad with one number a row.

Both add the L2 term of the rows that were met: shrink (n,) times the row itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel

_KEEP, _KEEP_SQUARE, _TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)


@fast_kernel
def adam(
    rows: Any,
    gradient: Any,
    shrink: Any,
    first: Any,
    second: Any,
    rate: Any,
    step: Any,
    begin: Any,
    end: Any,
) -> None:
    """rows -= rate mean / (sqrt(mean of squares) + tiny), both means freed of their start at 0.

    gradient (n, d); first, second: the moments; step: the number of this step, from 1.
    """
    one = np.float32(1)
    size = rows.shape[1]
    mend = one / (one - _KEEP ** np.float32(step))
    mend_square = one / (one - _KEEP_SQUARE ** np.float32(step))
    for row in range(begin, end):
        pull = shrink[row]
        for f in range(size):
            slope = gradient[row, f] + pull * rows[row, f]
            mean = _KEEP * first[row, f] + (one - _KEEP) * slope
            square = _KEEP_SQUARE * second[row, f] + (one - _KEEP_SQUARE) * slope * slope
            first[row, f], second[row, f] = mean, square
            rows[row, f] -= rate * (mean * mend) / (np.sqrt(square * mend_square) + _TINY)


@fast_kernel
def adagrad(
    rows: Any, gradient: Any, shrink: Any, spent: Any, rate: Any, begin: Any, end: Any
) -> None:
    """row -= rate slope / sqrt(sum of the squared lengths of its slopes so far)."""
    size = rows.shape[1]
    for row in range(begin, end):
        pull, square = shrink[row], np.float32(0)
        for f in range(size):
            slope = gradient[row, f] + pull * rows[row, f]
            square += slope * slope
        if square > np.float32(0):
            spent[row] += square
            length = rate / np.sqrt(spent[row])
            for f in range(size):
                rows[row, f] -= length * (gradient[row, f] + pull * rows[row, f])
