"""The two terms of a triplet's loss, x (pairwise) and y (scale), as functions of one code.

Each term of the loss (the form "triplet") is l(t), and t is linear in any one code z of its
triplet: t = w.z + s. `discrete.bounds` has the quadratic bound that follows.

`gamma` is tan(beta), not its square; `docs/method.md` lists equations, functions and tests.
`curvature_of` takes a number and is compiled into the calling kernel, in the number's type;
`logistic_loss` takes an array. With fast arithmetic neither makes an infinity or NaN.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.kernels import inlined

Margin: TypeAlias = Literal["paper", "geometric"]


def margin_offset(gamma: float, margin: Margin) -> float:
    """The margin's part of y / tau: 0, or the constant of the hinge, 1 - 3 gamma^2.

    >>> margin_offset(1.0, "paper"), margin_offset(1.0, "geometric")
    (0.0, -2.0)
    """
    if margin not in ("paper", "geometric"):
        raise OptionError(f"there is no margin {margin!r}: the margins are paper, geometric.")
    return 1 - 3 * gamma**2 if margin == "geometric" else 0.0


SERIES_BELOW = 2e-3
"""|xi| under which p(xi) is its series: the first term left out is under 1e-18."""


@inlined
def curvature_of(xi: Any) -> Any:
    """p(xi) = tanh(|xi|/2) / (4 |xi|), p(0) = 1/8: the factor of t^2 in the bound of l."""
    real = type(xi)
    half = real(0.5) * abs(xi)
    if half < real(0.5 * SERIES_BELOW):
        square = half * half
        series = real(1) - square * (real(1 / 3) - square * real(2 / 15))
        return real(0.125) * series
    return real(0.125) * np.tanh(half) / half


Real = TypeVar("Real", np.float32, np.float64)


def logistic_loss(t: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """l(t) = log(1 + e^t), for any finite t without overflow."""
    return np.logaddexp(t.dtype.type(0), t)


def role_tables(
    bits: int, *, temperature: float, gamma: float = 1.0, margin: Margin = "paper"
) -> npt.NDArray[np.float64]:
    """The coefficients of w and s, (3, 2, 4): role, term (x, y), coefficient.

    A triplet has two codes beside the block z. Call them p and q:

        user:      z = b_u,  p = d_j,  q = d_i
        positive:  z = d_i,  p = d_j,  q = b_u
        negative:  z = d_j,  p = b_u,  q = d_i

    Then t = t0 z.p + t1 z.q + t2 p.q + t3: w = t0 p + t1 q and s = t2 p.q + t3. The margin is in
    t3, the temperature in all of y's.
    """
    half, tau = 1 / (2 * bits), temperature / bits
    near, far = tau * (1 + gamma**2), tau * 2 * gamma**2
    offset = temperature * margin_offset(gamma, margin)
    return np.array(
        [
            [[half, -half, 0, 0], [far, -near, far, offset]],
            [[0, -half, half, 0], [far, -near, far, offset]],
            [[half, 0, -half, 0], [far, far, -near, offset]],
        ]
    )
