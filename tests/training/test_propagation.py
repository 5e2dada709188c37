from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.graph.lightgcn import through_unit, to_unit
from xorec.testing.data import planted
from xorec.training.propagation import Propagation
from xorec.training.table_steps import Moments, adagrad, adam

Doubles = npt.NDArray[np.float64]


def graph() -> Interactions:
    """Seven users and nine items; one of each has no pair."""
    data = planted(7, 9, groups=2, per_user=4)
    keep = (data.user_rows != 3) & (data.indices != 5)
    return data.select(keep)


def by_hand(train: Interactions, layers: int, smoothing: float = 1.0) -> Doubles:
    """The operator as a dense matrix: the weighted mean of powers of the scaled adjacency."""
    n, size = train.n_users, train.n_users + train.n_items
    adjacent = np.zeros((size, size))
    for user in range(n):
        for item in train.of_user(user):
            weight = 1 / np.sqrt(train.user_counts[user] * train.item_counts[item])
            adjacent[user, n + item] = adjacent[n + item, user] = weight
    powers = [np.linalg.matrix_power(adjacent, layer) for layer in range(layers + 1)]
    return np.asarray(np.average(powers, axis=0, weights=smoothing ** np.arange(layers + 1)))


def applied(
    train: Interactions, layers: int, ego: Doubles, threads: int = 1, smoothing: float = 1.0
) -> Doubles:
    out, spare = np.empty_like(ego), (np.empty_like(ego), np.empty_like(ego))
    operator = Propagation.of(train, layers, smoothing)
    operator.scales.setflags(write=False)
    with ThreadPool(threads) as pool:
        operator.apply(ego, out, spare, pool)  # type: ignore[arg-type]
    return out


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
@pytest.mark.parametrize("layers", [0, 1, 2, 3, 5])
def test_propagation_is_the_mean_of_powers(layers: int, smoothing: float) -> None:
    """Layers may weigh less the farther they are; scales are float32."""
    train, ego = graph(), np.random.default_rng(layers).standard_normal((16, 6))
    found = applied(train, layers, ego, smoothing=smoothing)
    expected = by_hand(train, layers, smoothing) @ ego
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("layers", [1, 3])
def test_propagation_is_symmetric(layers: int) -> None:
    """x.(P y) = (P x).y: so the gradient comes back through the same operator."""
    train, rng = graph(), np.random.default_rng(1)
    x, y = rng.standard_normal((2, 16, 6))
    left, right = (x * applied(train, layers, y)).sum(), (applied(train, layers, x) * y).sum()
    assert abs(left - right) < 1e-9 * abs(left) + 1e-9


def test_propagation_has_the_same_bytes_for_any_number_of_threads() -> None:
    train = planted(120, 90)
    ego = np.random.default_rng(0).standard_normal((210, 24)).astype(np.float32)
    results = [applied(train, 3, ego, threads).tobytes() for threads in (1, 2, 3)]  # type: ignore[arg-type]
    assert results[0] == results[1] == results[2]


def test_adam_is_the_textbooks() -> None:
    rng = np.random.default_rng(2)
    rows, shrink = rng.standard_normal((4, 3)), np.array([0.0, 0.1, 0.2, 0.3])
    first, second = np.zeros((4, 3)), np.zeros((4, 3))
    mine, m, v = rows.copy(), np.zeros((4, 3)), np.zeros((4, 3))
    for step in range(1, 6):
        gradient = rng.standard_normal((4, 3))
        whole = gradient + shrink[:, None] * mine
        m, v = 0.9 * m + 0.1 * whole, 0.999 * v + 0.001 * whole**2
        mine -= 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        adam(rows, gradient, shrink, Moments(first, second, step), 0.05, 0, 4)
    np.testing.assert_allclose(rows, mine, rtol=2e-4)  # its constants are float32


def test_adagrad_has_one_number_a_row() -> None:
    """A row that was not met, and has no L2, stays; the others move by rate / root of the sum."""
    rng = np.random.default_rng(4)
    rows, shrink = rng.standard_normal((4, 3)), np.array([0.0, 0.1, 0.2, 0.0])
    mine, spent, own = rows.copy(), np.zeros(4), np.zeros(4)
    for _ in range(5):
        gradient = rng.standard_normal((4, 3))
        gradient[3] = 0
        whole = gradient + shrink[:, None] * mine
        own += (whole**2).sum(axis=1)
        mine[:3] -= 0.5 * whole[:3] / np.sqrt(own[:3, None])
        adagrad(rows, gradient, shrink, spent, 0.5, 0, 4)
    np.testing.assert_allclose(rows, mine, rtol=1e-9)
    np.testing.assert_allclose(spent, own, rtol=1e-9)


def test_gradients_come_back_through_the_scaling_to_unit_length() -> None:
    rng = np.random.default_rng(3)
    rows, weights = rng.standard_normal((5, 4)), rng.standard_normal((5, 4))
    rows[2] = 0
    unit, slopes, eps = np.empty_like(rows), weights.copy(), 1e-6
    to_unit(rows, unit, 0, 5)
    through_unit(rows, unit, slopes, 0, 5)
    for row, f in np.ndindex(5, 4):
        if row == 2:
            assert slopes[row, f] == 0
            assert unit[row, f] == 0
            continue
        ends = []
        for sign in (1, -1):
            moved = rows[row].copy()
            moved[f] += sign * eps
            ends.append(weights[row] @ moved / np.linalg.norm(moved))
        np.testing.assert_allclose(slopes[row, f], (ends[0] - ends[1]) / (2 * eps), atol=1e-8)
