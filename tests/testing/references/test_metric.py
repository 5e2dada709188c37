from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.references.metric import (
    cml_gradients,
    cml_values,
    covariance_gradient,
    covariance_penalty,
    rank_weights,
    sml_gradients,
    sml_values,
)
from tests.support.steps import differences
from xorec.core.errors import OptionError
from xorec.models.metric.sml import SML

N_ITEMS = 40
SCALINGS: list[Any] = ["mean", "released"]


def triplets(seed: int, pairs: int = 7, count: int = 4, size: int = 5) -> Any:
    """Points near the ball's rim: some hinges are active, some are not."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((pairs, 2 + count, size))
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    return points[:, 0], points[:, 1], points[:, 2:]


def margins(seed: int, pairs: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random(pairs), rng.random(pairs)


def apart(left: Any, right: Any) -> float:
    return sum(float(x - y) ** 2 for x, y in zip(left, right, strict=True))


@pytest.mark.parametrize("margin", [0.3, 1.0, 1.9])
@pytest.mark.parametrize("rank_weight", [True, False])
def test_cml_equals_a_plain_loop(margin: float, rank_weight: bool) -> None:
    b, d_pos, d_neg = triplets(1)
    expected, weights = [], []
    for user, positive, negatives in zip(b, d_pos, d_neg, strict=True):
        near, hardest, inside = apart(user, positive), math.inf, 0
        for negative in negatives:
            far = apart(user, negative)
            hardest = min(hardest, far)
            inside += margin + near - far > 0
        weights.append(math.log(1 + N_ITEMS * inside / len(negatives)))
        expected.append((weights[-1] if rank_weight else 1) * max(0, margin + near - hardest))
    assert min(expected) == 0 or margin > 0.3
    settings: Any = {"margin": margin, "n_items": N_ITEMS}
    values = cml_values(b, d_pos, d_neg, rank_weight=rank_weight, **settings)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(rank_weights(b, d_pos, d_neg, **settings), weights, atol=1e-9)


@pytest.mark.parametrize("margin", [0.3, 1.0])
@pytest.mark.parametrize("rank_weight", [True, False])
def test_cml_gradients_are_finite_differences(margin: float, rank_weight: bool) -> None:
    """The rank weight is constant but for jumps, so differences see it as the constant it is."""
    rows = triplets(2)
    settings: dict[str, Any] = {"margin": margin, "n_items": N_ITEMS, "rank_weight": rank_weight}
    found = cml_gradients(*rows, **settings)
    for place in range(3):

        def loss(at: np.ndarray, place: int = place) -> float:
            changed: Any = (*rows[:place], at, *rows[place + 1 :])
            return float(cml_values(*changed, **settings).sum())

        np.testing.assert_allclose(found[place], differences(loss, rows[place]), atol=1e-6)
    assert np.any(found[0] != 0)


def test_covariance_penalty_equals_a_plain_loop() -> None:
    rows = np.random.default_rng(3).standard_normal((9, 4)) + 2.0
    means = [sum(row[a] for row in rows) / 9 for a in range(4)]
    expected = 0.0
    for a in range(4):
        for b in range(4):
            if a != b:
                covariance = sum((row[a] - means[a]) * (row[b] - means[b]) for row in rows) / 9
                expected += covariance**2
    assert covariance_penalty(rows) == pytest.approx(expected, abs=1e-9)


def test_covariance_gradient_is_finite_differences() -> None:
    rows = np.random.default_rng(4).standard_normal((6, 4)) + 1.0
    np.testing.assert_allclose(
        covariance_gradient(rows), differences(covariance_penalty, rows), atol=1e-7
    )


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("lambda_", [0.0, 0.3])
def test_sml_equals_a_plain_loop(scaling: Any, lambda_: float) -> None:
    (b, d_pos, d_neg), (m, n) = triplets(5), margins(5)
    expected = []
    for p in range(len(b)):
        total, near = 0.0, apart(b[p], d_pos[p])
        for negative in d_neg[p]:
            total += max(0, near - apart(b[p], negative) + m[p])
            total += lambda_ * max(0, near - apart(d_pos[p], negative) + n[p])
            if scaling == "mean":
                total -= 0.4 * m[p] + lambda_ * 0.4 * n[p]
            else:
                total -= 10 / 512 * (m[p] + n[p])
        expected.append(total)
    rewards = SML(scaling=scaling, lambda_=lambda_, rho=0.4, gamma=10, batch=512).config.rewards()
    values = sml_values(b, d_pos, d_neg, m, n, lambda_=lambda_, rewards=rewards)
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_sml_gradients_are_finite_differences(scaling: Any) -> None:
    """In the rows of users, positives and negatives, and in both margins."""
    given = (*triplets(6), *margins(6))
    rewards = SML(scaling=scaling, lambda_=0.3, rho=0.4, gamma=10, batch=512).config.rewards()
    settings: dict[str, Any] = {"lambda_": 0.3, "rewards": rewards}
    found = sml_gradients(*given, **settings)
    for place in range(5):

        def loss(at: np.ndarray, place: int = place) -> float:
            changed: Any = (*given[:place], at, *given[place + 1 :])
            return float(sml_values(*changed, **settings).sum())

        np.testing.assert_allclose(found[place], differences(loss, given[place]), atol=1e-6)


def test_the_released_scaling_is_a_sum_of_hinges_and_a_mean_of_rewards() -> None:
    """Over one batch of B triplets: sum of hinges - gamma (mean of m + mean of n)."""
    (b, d_pos, d_neg), (m, n) = triplets(7, pairs=8, count=1), margins(7, pairs=8)
    plain = sml_values(b, d_pos, d_neg, m, n, lambda_=0.2, rewards=(0, 0)).sum()
    rewards = SML(scaling="released", lambda_=0.2, rho=0.5, gamma=3.0, batch=8).config.rewards()
    whole = sml_values(b, d_pos, d_neg, m, n, lambda_=0.2, rewards=rewards).sum()
    assert whole == pytest.approx(plain - 3.0 * (m.mean() + n.mean()), abs=1e-9)


def test_another_scaling_is_refused() -> None:
    with pytest.raises(OptionError, match="sml: scaling is 'max': input should be 'mean' or"):
        SML(scaling="max")
