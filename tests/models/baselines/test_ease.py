from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import OptionError, XorecError
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.baselines import ease
from xorec.models.baselines.ease import EASE, item_weights, memory_available
from xorec.models.linear_algebra import TILE, bytes_needed, negative_inverse, rows_within
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.testing.data import planted, weighted
from xorec.testing.models import PersonalModelTests


class TestEASE(PersonalModelTests):
    model = EASE
    settings = {"reg": 20.0}  # noqa: RUF012


class TestEASEWithFewWeights(PersonalModelTests):
    variant = True
    model = EASE
    settings = {"reg": 20.0, "neighbours": 30}  # noqa: RUF012


def brute_force(X: np.ndarray, reg: float) -> np.ndarray:
    P: Any = np.linalg.inv(X.T @ X + reg * np.eye(X.shape[1]))
    B: np.ndarray = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    return B


def ones(data: Interactions) -> np.ndarray:
    return np.asarray(data.matrix().toarray(), dtype=np.float64)


@pytest.mark.parametrize("reg", [0.5, 30.0])
def test_weights_equal_brute_force_and_are_the_least_of_the_loss(reg: float) -> None:
    """Any step off the diagonal raises |X - XB|^2 + reg |B|^2: the gradient there is nothing."""
    data = planted(80, 40)
    X = ones(data)
    B = item_weights(data, np.arange(40), reg, ThreadPool(2))
    assert B.dtype == np.float64
    np.testing.assert_allclose(B, brute_force(X, reg), rtol=1e-9, atol=1e-12)
    assert not B.diagonal().any()

    def loss(B: np.ndarray) -> float:
        return float(((X - X @ B) ** 2).sum() + reg * (B**2).sum())

    step = 1e-4
    for i, j in np.random.default_rng(0).integers(40, size=(50, 2)):
        if i != j:
            up, down = B.copy(), B.copy()
            up[i, j] += step
            down[i, j] -= step
            slope = (loss(up) - loss(down)) / (2 * step)
            assert abs(slope) < 1e-6
            assert min(loss(up), loss(down)) > loss(B)


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize("items", [40, 15])
def test_scores_are_the_users_row_times_the_weights(items: int, has_weights: bool) -> None:
    """Of the most popular items; the entries of the row are the roots of the weights of pairs."""
    data = weighted(planted(80, 40)) if has_weights else planted(80, 40)
    chosen = np.flatnonzero(tie_rank(data.items, data.item_counts) < items)
    roots = None if data.weights is None else np.sqrt(data.weights)
    X = data.matrix(roots).toarray().astype(np.float64)[:, chosen]
    B, expected = np.zeros((40, 40)), np.zeros((80, 40))
    B[np.ix_(chosen, chosen)] = brute_force(X, 30.0)
    expected[:, chosen] = X @ brute_force(X, 30.0)
    found = EASE(reg=30.0, items=items).fit(data).representation_
    assert isinstance(found, ItemWeights)
    assert found.items.tolist() == chosen.tolist()
    np.testing.assert_allclose(found.scores(np.arange(80)), expected, atol=1e-5)
    for item in range(40):
        np.testing.assert_allclose(found.likeness(np.arange(40), item), B[:, item], atol=1e-5)


@pytest.mark.parametrize("items", [0, 25])
def test_neighbours_keeps_the_largest_weights_of_each_item(items: int) -> None:
    data = planted(80, 40)
    order = tie_rank(data.items, data.item_counts)
    chosen = np.flatnonzero(order < (items or 40))
    found = EASE(reg=30.0, items=items, neighbours=6).fit(data).representation_
    assert isinstance(found, Neighbours)
    small = brute_force(ones(data)[:, chosen], 30.0)
    for row in small:
        row[np.argsort(-np.abs(row))[6:]] = 0
    expected = np.zeros((40, 40))
    expected[np.ix_(chosen, chosen)] = small
    np.testing.assert_allclose(found.similarity.toarray(), expected, atol=1e-6)


@pytest.mark.parametrize("size", [1, TILE - 1, TILE, 2 * TILE + 37])
@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_inverse(size: int, dtype: type, digits: float) -> None:
    """Of the lower half alone, with the same bytes for any number of threads."""
    rows = np.random.default_rng(size).standard_normal((size, 40))
    A: Any = (rows @ rows.T + 5 * np.eye(size)).astype(dtype)
    expected = -np.linalg.inv(A.astype(np.float64))
    found = []
    for threads in (1, 2, 3):
        own = np.where(np.tri(size, dtype=np.bool_), A, dtype(np.nan))
        with ThreadPool(threads) as pool:
            negative_inverse(own, pool)
        found.append(own.tobytes())
    assert found[0] == found[1] == found[2]
    np.testing.assert_allclose(own, expected, atol=digits * np.abs(expected).max())
    assert (own == own.T).all()


def test_a_matrix_that_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(XorecError, match="take a larger reg"):
        negative_inverse(np.array([[1.0, 2.0], [2.0, 1.0]]), ThreadPool(1))


def test_float32_is_near_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted(300, 200)
    exact = item_weights(data, np.arange(200), 30.0, ThreadPool(1))
    monkeypatch.setattr(ease, "_SMALL", 100)
    found = item_weights(data, np.arange(200), 30.0, ThreadPool(1))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_too_many_items_for_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted(80, 40)
    monkeypatch.setattr(ease, "memory_available", lambda: 10_000)
    with pytest.raises(
        OptionError, match=r"40 items need 38,400 bytes and 10,000 are free: set items, .*items=2,"
    ):
        EASE().fit(data)


@pytest.mark.parametrize("memory", [1, 10_000, 10**7, 10**10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_so_many_rows_do_fit(memory: int, dtype: type) -> None:
    rows = rows_within(memory, dtype)
    assert rows == 1 or bytes_needed(rows, dtype) <= memory
    assert bytes_needed(rows + 2 * TILE, dtype) > memory


def test_available_memory_is_read_where_it_is_told(tmp_path: Path) -> None:
    told = tmp_path / "meminfo"
    told.write_text("MemTotal: 2048 kB\nMemAvailable:    1024 kB\n")
    assert memory_available(told) == 1 << 20
    assert memory_available(tmp_path / "none") is None
