"""l(t) = log(1 + e^t) of arrays of float32 or float64; `logistic_kernels` has it for numba."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Real = TypeVar("Real", np.float32, np.float64)


def logistic_loss(t: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """l(t) = log(1 + e^t), for any finite t without overflow.

    >>> logistic_loss(np.array([-1e4, 0.0, 1e4])).round(3).tolist()
    [0.0, 0.693, 10000.0]
    """
    return np.logaddexp(t.dtype.type(0), t)
