"""l(t) = log(1 + e^t), its slope and the curvature of its bound: scalars in, a scalar out.

Compiled into the caller, in the type of the argument; written for kernels with fast arithmetic:
no step makes an infinity or a NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import inlined

SERIES_BELOW = 2e-3
"""|xi| under which p(xi) is its series: the first term left out is under 1e-18."""


@inlined
def logistic_loss_of(t: Any) -> Any:
    """l(t) = log(1 + e^t)."""
    zero = type(t)(0)
    return max(t, zero) + np.log1p(np.exp(-abs(t)))


@inlined
def sigmoid_of(t: Any) -> Any:
    """sigma(t) = 1 / (1 + e^-t)."""
    one = type(t)(1)
    small = np.exp(-abs(t))
    large = one / (one + small)
    return large if t >= 0 else small * large


@inlined
def curvature_of(xi: Any) -> Any:
    """p(xi) = tanh(|xi|/2) / (4 |xi|), p(0) = 1/8."""
    real = type(xi)
    half = real(0.5) * abs(xi)
    if half < real(0.5 * SERIES_BELOW):
        square = half * half
        series = real(1) - square * (real(1 / 3) - square * real(2 / 15))
        return real(0.125) * series
    return real(0.125) * np.tanh(half) / half
