from __future__ import annotations

import numpy as np
import pytest

from xorec.representations.vectors import Distances, Vectors


def make(biased: bool, seed: int = 0) -> Vectors:
    rng = np.random.default_rng(seed)
    users, items = (rng.standard_normal((n, 6)).astype(np.float32) for n in (9, 31))
    return Vectors(users, items, rng.standard_normal(31).astype(np.float32) if biased else None)


def exact(vectors: Vectors) -> np.ndarray:
    scores = vectors.user_vectors.astype(np.float64) @ vectors.item_vectors.T.astype(np.float64)
    return np.asarray(scores if vectors.item_bias is None else scores + vectors.item_bias)


@pytest.mark.parametrize("biased", [False, True])
def test_scores_are_dot_products_and_the_bias(biased: bool) -> None:
    vectors = make(biased)
    expected = exact(vectors)
    np.testing.assert_allclose(vectors.scores(np.array([4, 0])), expected[[4, 0]], atol=1e-5)
    np.testing.assert_allclose(vectors.score(vectors.user_vectors[3])[0], expected[3], atol=1e-5)


def test_items_and_users_are_compared_by_cosine() -> None:
    vectors = make(biased=True)
    vectors.item_vectors[5] *= 100  # a long one is no more alike
    vectors.item_vectors[7] = 0
    for among, rows in (
        (vectors.among_items(), vectors.item_vectors),
        (vectors.among_users(), vectors.user_vectors),
    ):
        norms = np.linalg.norm(rows, axis=1)
        expected = (rows @ rows.T) / np.maximum(np.outer(norms, norms), 1e-9)
        np.testing.assert_allclose(among.scores(np.arange(len(rows))), expected, atol=1e-5)
    alike = vectors.similar(np.array([3]))[0, [8, 2]]
    np.testing.assert_array_equal(vectors.likeness(np.array([8, 2]), 3), alike)


def distances(seed: int = 0, users: int = 9, items: int = 31, size: int = 6) -> Distances:
    rng = np.random.default_rng(seed)
    draw = (rng.standard_normal((n, size)).astype(np.float32) for n in (users, items))
    return Distances(*draw)


def distances_by_pairs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    difference = left[:, None].astype(np.float64) - right[None]
    return np.asarray(-np.sum(difference**2, axis=2))


def test_scores_are_minus_the_squared_distance() -> None:
    there = distances()
    scores = there.scores(np.array([4, 0, 8]))
    expected = distances_by_pairs(there.user_vectors[[4, 0, 8]], there.item_vectors)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
    assert there.score(there.user_vectors[3]).shape == (1, 31)


@pytest.mark.parametrize("away", [0.0, 10.0, 300.0])
def test_far_from_the_origin_the_order_is_still_right(away: float) -> None:
    """|b|^2 and |d|^2 are 540,000 at 300: the plain sum would lose all digits of the distance."""
    near = distances(1)
    moved = Distances(near.user_vectors + np.float32(away), near.item_vectors + np.float32(away))
    expected = distances_by_pairs(moved.user_vectors, moved.item_vectors)
    scores = moved.scores(np.arange(9))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.argsort(-scores, axis=1), np.argsort(-expected, axis=1))


def test_no_score_is_above_zero_even_between_equal_distances() -> None:
    rng = np.random.default_rng(2)
    same = rng.standard_normal((200, 64)).astype(np.float32)
    scores = Distances(same, same).scores(np.arange(200))
    assert scores.max() <= 0
    np.testing.assert_allclose(np.diag(scores), 0, atol=1e-4)
    assert (scores.argmax(axis=1) == np.arange(200)).all()


def test_distances_compare_items_and_users() -> None:
    there = distances(3)
    for among, rows in (
        (there.among_items(), there.item_vectors),
        (there.among_users(), there.user_vectors),
    ):
        assert isinstance(among, Distances)
        found = among.scores(np.arange(len(rows)))
        np.testing.assert_allclose(found, distances_by_pairs(rows, rows), rtol=1e-5, atol=1e-5)
    likeness = there.likeness(np.array([5, 7]), 2)
    expected = distances_by_pairs(there.item_vectors[[5, 7]], there.item_vectors[[2]])[:, 0]
    np.testing.assert_allclose(likeness, expected, rtol=1e-5, atol=1e-5)
