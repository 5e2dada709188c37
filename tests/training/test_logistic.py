from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from tests.support.references.logistic import curvature, sigmoid
from xorec.core.kernels import fast_kernel
from xorec.training.loss import SERIES_BELOW, curvature_of, logistic_loss


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    @fast_kernel
    def values(t: Any) -> Any:
        found = np.empty_like(t)
        for k in range(len(t)):
            found[k] = function(t[k])
        return found

    return values


FUNCTIONS = [
    (0, logistic_loss),
    (1, sigmoid),
    (2, curvature),
    (2, compiled(curvature_of)),
]
POINTS = [-1e4, -700.0, -88.0, -30.0, -3.0, -0.5, -1e-3, -1e-9, -1e-300, 0.0, 1e-12, 5e-4]
POINTS += [0.999 * SERIES_BELOW, SERIES_BELOW, 1.001 * SERIES_BELOW, 0.1, 2.0, 40.0, 89.0, 1e4]


def exact(t: float) -> tuple[Decimal, Decimal, Decimal]:
    """l, sigma and p at t with 60 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 60, -(10**6), 10**6
        value = Decimal(t)
        power = value.exp()
        loss = (1 + power).ln() if value > -50 else power
        slope = power / (1 + power)
        size = abs(value)
        if size < Decimal("1e-15"):
            return loss, slope, Decimal("0.125")
        return loss, slope, (1 - (-size).exp()) / (1 + (-size).exp()) / (4 * size)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("which", "function"), FUNCTIONS, ids=["loss", "sigmoid", "curvature", "kernel"]
)
def test_values_are_exact_to_a_few_ulp(kind: Any, which: int, function: Callable[..., Any]) -> None:
    """From -1e4 to 1e4, both precisions, no warning, and the precision is kept."""
    t = np.array(POINTS, dtype=kind)
    found = function(t)
    assert found.dtype == kind
    expected = [float(exact(float(point))[which]) for point in t]
    limits = np.finfo(kind)
    np.testing.assert_allclose(found, expected, rtol=8 * limits.eps, atol=limits.tiny)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_curvature_has_no_seam(kind: Any) -> None:
    """Even, 1/8 at 0, falling without a jump where the series ends."""
    xi = np.linspace(0, 4 * SERIES_BELOW, 4001, dtype=kind)
    p = curvature(xi)
    assert p[0] == kind(0.125)
    np.testing.assert_array_equal(p, curvature(-xi))
    assert np.all(np.diff(p) <= 2 * np.finfo(kind).eps * 0.125)


def test_sigma_is_the_slope_of_the_loss() -> None:
    t = np.linspace(-20, 20, 81)
    slope = (logistic_loss(t + 1e-5) - logistic_loss(t - 1e-5)) / 2e-5
    np.testing.assert_allclose(sigmoid(t), slope, atol=1e-9)
