"""The slope sigma(t) of l(t) = log(1 + e^t), and the curvature p(xi) of its quadratic bound."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from xorec.training.loss import SERIES_BELOW

Real = TypeVar("Real", np.float32, np.float64)


def sigmoid(t: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """sigma(t) = 1 / (1 + e^-t), the slope of l; exact in the tail where it nears 0."""
    return np.asarray(expit(t), dtype=t.dtype)


def curvature(xi: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """p(xi) = tanh(|xi|/2) / (4 |xi|), p(0) = 1/8: even, falling from 1/8 to 0.

    Near 0, with v = xi/2: p = (1 - v^2/3 + 2 v^4/15 - ...) / 8, so there is no 0/0.
    """
    size = np.abs(xi)
    near = size < SERIES_BELOW
    half = np.where(near, size / 2, 0)
    square = half * half
    far = np.where(near, 1, size)
    value = np.where(
        near, (1 - square / 3 + 2 * square * square / 15) / 8, np.tanh(far / 2) / far / 4
    )
    return np.asarray(value, dtype=xi.dtype)
