from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from xorec.data.interactions import Interactions
from xorec.models.baselines import slim
from xorec.models.baselines.item_knn import NearestItems
from xorec.models.baselines.slim import SLIM, ridge_by_users
from xorec.recommender.recommender import Recommender
from xorec.representations.neighbours import Neighbours
from xorec.testing.data import planted, weighted
from xorec.testing.models import PersonalModelTests


class TestSLIM(PersonalModelTests):
    model = SLIM
    settings = {"l2": 5.0}  # noqa: RUF012


class TestSLIMInBytes(PersonalModelTests):
    variant = True
    model = SLIM
    settings = {"l2": 5.0, "weight_dtype": "int8"}  # noqa: RUF012


class TestSLIMByUsers(PersonalModelTests):
    variant = True
    model = SLIM
    settings = {"l2": 5.0}  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def _no_matrix(self, monkeypatch: pytest.MonkeyPatch) -> None:
        without_matrix(monkeypatch)


def without_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slim, "MATRIX_ITEMS", 0)


def brute_force(
    data: Interactions, N: int, l2: float, growth: float, by_user: float, by_item: float
) -> Any:
    """Item by item, by the formula: row i has what i says for others."""
    weights = np.ones(data.n_pairs) if data.weights is None else data.weights
    X = data.matrix(np.sqrt(weights).astype(np.float32)).toarray().astype(np.float64)
    lengths = np.diff(data.indptr)
    typical = 2 ** round(np.log2(lengths.mean()))
    G = X.T @ ((typical / lengths) ** by_user * X.T).T
    P = G.diagonal() / 2 ** round(np.log2(data.n_pairs / data.n_items))
    found = np.zeros_like(G)
    for j in range(len(G)):
        near = G[:, j] / np.sqrt(G.diagonal())
        near[j] = 0
        S = np.argsort(-near)[: min(N, np.count_nonzero(near))]
        ridge = G[np.ix_(S, S)] + np.diag(l2 * P[S] ** by_item + growth * G[j, j])
        found[S, j] = np.linalg.solve(ridge, G[S, j])
    return found


@pytest.mark.parametrize("by_users", [False, True])
@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize(
    "setting", [(39, 2.0, 0.0, 0.0, 0.4), (7, 5.0, 0.3, 0.5, 0.0), (10, 1.0, 0.0, 1.0, 1.0)]
)
def test_weights_equal_a_plain_solve(
    by_users: bool, has_weights: bool, setting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of their own keep the nearest apart: no ties, which are another rule's."""
    if by_users:
        without_matrix(monkeypatch)
    data = weighted(planted(80, 40)) if has_weights or setting[0] < 39 else planted(80, 40)
    names = ("neighbours", "l2", "growth", "user_exponent", "item_exponent")
    model = SLIM(**dict(zip(names, setting, strict=True)), smallest=0).fit(data)
    found = model.representation_
    assert isinstance(found, Neighbours)
    expected = brute_force(data, *setting)
    np.testing.assert_allclose(found.similarity.toarray(), expected, atol=2e-6)
    X = found.history.toarray().astype(np.float64)
    np.testing.assert_allclose(found.scores(np.arange(80)), X @ expected, atol=2e-5)


def test_small_weights_are_dropped() -> None:
    data = planted(80, 40)
    whole, some = (SLIM(smallest=least).fit(data).representation_ for least in (0.0, 0.02))
    assert isinstance(whole, Neighbours)
    assert isinstance(some, Neighbours)
    every = whole.similarity.toarray()
    expected = np.where(np.abs(every) >= 0.02, every, 0)
    assert 0 < np.count_nonzero(expected) < np.count_nonzero(every)
    np.testing.assert_array_equal(some.similarity.toarray(), expected)
    assert len(some.postings.items) == np.count_nonzero(expected)


def in_groups(users: range, items_of: Any) -> list[tuple[str, str]]:
    rng = np.random.default_rng(len(users))
    return [
        (f"u{user}", f"i{item}")
        for user in users
        for item in rng.choice(items_of(user), size=6, replace=False)
    ]


def is_a_fit_on_all_pairs(shop: Recommender, **settings: Any) -> Interactions:
    """Assert it to the last bit; returns the pairs."""
    indptr, items = shop.seen
    users = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    train = Interactions.from_rows(shop.user_ids, shop.item_ids, users, items)
    again = SLIM(l2=2.0, **settings).fit(train).representation_.tensors()
    for name, tensor in shop.representation.tensors().items():
        assert tensor.tobytes() == again[name].tobytes(), name
    return train


@pytest.mark.parametrize(
    "settings", [{}, {"weight_dtype": "float16", "neighbours": 4}, {"weight_dtype": "int8"}]
)
def test_an_update_is_a_fit_on_all_pairs(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """New pairs in one of two groups of items; the other's weights stay, and are not solved."""
    without_matrix(monkeypatch)
    first = in_groups(range(80), lambda user: range(20) if user % 2 else range(20, 40))
    later = [("u1", f"i{item}") for item in range(9)] + [("new", "i3"), ("new", "fresh")]
    data = Interactions.from_pairs(first)
    shop = Recommender.from_model(SLIM(l2=2.0, **settings).fit(data), data)
    solved: list[int] = []
    weights = SLIM._weights

    def watched(self: Any, train: Any, rows: Any, pool: Any) -> Any:
        solved.append(len(rows))
        return weights(self, train, rows, pool)

    monkeypatch.setattr(SLIM, "_weights", watched)
    after = shop.update(Interactions.from_pairs(later))
    is_a_fit_on_all_pairs(after, **settings)
    assert solved == ([41, 41] if settings.get("weight_dtype") == "int8" else [21, 41])


def test_an_update_that_changes_what_is_typical_solves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer with many new items halves the pairs of an item, not those of a user."""
    without_matrix(monkeypatch)
    first = in_groups(range(80), lambda user: range(40))
    later = [("new", f"fresh{item}") for item in range(25)]
    data = Interactions.from_pairs(first)
    shop = Recommender.from_model(SLIM(l2=2.0).fit(data), data)
    train = is_a_fit_on_all_pairs(shop.update(Interactions.from_pairs(later)))
    assert round(np.log2(train.n_pairs / 65)) < round(np.log2(data.n_pairs / 40))
    assert round(np.log2(train.n_pairs / 81)) == round(np.log2(data.n_pairs / 80))


def test_reasons_sum_to_the_score() -> None:
    data = planted(80, 40)
    shop = Recommender.from_model(SLIM(l2=5.0).fit(data), data)
    user = data.users[3]
    best = shop.recommend(user, 1).items[0]
    why = shop.explain(user, best.id, k=40)
    assert len(why.because) == len(data.of_user(3))
    assert sum(one.score for one in why.because) == pytest.approx(why.score, abs=1e-5)


def test_many_users_come_in_cuts() -> None:
    """Two cuts of 70,000 users, in each of which chains begin again: as by a plain solve."""
    rng = np.random.default_rng(5)
    X = csc_array(rng.random((140_000, 4)) < 0.2, dtype=np.float64)
    dense = (X.T @ X).toarray()
    by_item = (X.indptr.astype(np.int64), X.indices.astype(np.int32), np.zeros(0, np.float32))
    others = np.array([[1, 2, 3]], dtype=np.int32)
    nearest = NearestItems(
        np.array([0], dtype=np.int32), others, np.zeros((1, 3), np.float32), np.array([3])
    )
    penalty = (np.full(4, 7.0), np.full(4, 2.0))
    ridge_by_users(by_item, 140_000, X.nnz, penalty, nearest)
    system = dense[1:, 1:] + 9.0 * np.eye(3)
    np.testing.assert_allclose(nearest.weights[0], np.linalg.solve(system, dense[1:, 0]), rtol=1e-6)
