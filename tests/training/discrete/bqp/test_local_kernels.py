"""The kernels against the same search in plain Python, where every value is computed anew."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.rng import draw, stream
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp.local_search import (
    changes,
    descend,
    magnitude,
    make_scratch,
    tabu,
    turn,
    turn_free,
)

Z = npt.NDArray[np.float64]
LEAST = 1e-12


def value(A: Any, c: Any, z: Z) -> float:
    return float(z @ A @ z + c @ z)


def slow_changes(A: Any, c: Any, z: Z) -> Z:
    found = np.empty(len(z))
    for k in range(len(z)):
        turned = z.copy()
        turned[k] = -turned[k]
        found[k] = value(A, c, turned) - value(A, c, z)
    return found


def slow_descent(A: Any, c: Any, z: Z, least: float) -> int:
    steps = 0
    while (change := slow_changes(A, c, z)).min() < -least:
        z[change.argmin()] *= -1
        steps += 1
    return steps


def slow_tabu(A: Any, c: Any, code: Z, starts: int, flips: int, seed: int) -> Z:
    least = LEAST * (np.abs(A).sum() + np.abs(c).sum())
    best = code.copy()
    for start in range(starts):
        key, z = np.uint64(stream(seed, start, 0)), best.copy()
        for i in range(len(z)):
            if start and draw(key, flips + i) >> 62 == 0:
                z[i] *= -1
        slow_descent(A, c, z, least)
        if value(A, c, z) < value(A, c, best) - least:
            best = z.copy()
        free_at = np.zeros(len(z))
        for now in range(flips):
            change = slow_changes(A, c, z)
            allowed = np.where(free_at <= now, change, np.inf)
            if value(A, c, z) + change.min() < value(A, c, best) - least:
                allowed = change
            k = int(allowed.argmin()) if np.isfinite(allowed).any() else len(z) - 1
            z[k] *= -1
            free_at[k] = now + 3 + (draw(key, now) >> 62)
            if value(A, c, z) < value(A, c, best) - least:
                best = z.copy()
    return best


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 7, 20, 33])
def test_changes_stay_right_while_bits_turn(d: int, dtype: Any) -> None:
    A, c = (part.astype(dtype) for part in random_problem(d, d))
    z, change = np.ones(d), np.empty(d)
    assert changes(A, c, z, change) == pytest.approx(value(A, c, z), rel=1e-6)
    assert magnitude(A, c) == pytest.approx(np.abs(A).sum() + np.abs(c).sum(), rel=1e-6)
    rng = np.random.default_rng(d)
    exact_A, exact_c = A.astype(np.float64), c.astype(np.float64)
    for now in range(3 * d):
        k, free_at = int(rng.integers(d)), rng.integers(0, 3 * d, d).astype(np.float64)
        others = np.arange(d) != k
        if now % 2:
            least, least_free = turn_free(A, z, change, free_at, float(now), k)
            free = others & (free_at <= now)
            assert least_free == (change[free].min() if free.any() else 1e300)
        else:
            least = turn(A, z, change, k)
        assert least == (change[others].min() if d > 1 else pytest.approx(1e300))
        np.testing.assert_allclose(change, slow_changes(exact_A, exact_c, z), atol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 9, 24])
def test_descent(d: int) -> None:
    for seed in range(8):
        A, c = random_problem(d, seed)
        code, slow = np.ones(d, dtype=np.int8), np.ones(d)
        steps = descend(A, c, code, make_scratch(d))
        assert steps == slow_descent(A, c, slow, LEAST * (np.abs(A).sum() + np.abs(c).sum()))
        assert (code == slow).all()


@pytest.mark.parametrize("d", [1, 2, 6, 17])
def test_tabu(d: int) -> None:
    for seed in range(4):
        A, c = random_problem(d, seed)
        code = np.ones(d, dtype=np.int8)
        tabu(A, c, code, 3, 2 * d, seed, make_scratch(d))
        assert (code == slow_tabu(A, c, np.ones(d), 3, 2 * d, seed)).all()
