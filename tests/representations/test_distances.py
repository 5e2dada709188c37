from __future__ import annotations

import numpy as np
import pytest

from xorec.representations import representation_class
from xorec.representations.vectors import Distances


def points(seed: int = 0, users: int = 9, items: int = 31, size: int = 6) -> Distances:
    rng = np.random.default_rng(seed)
    draw = (rng.standard_normal((n, size)).astype(np.float32) for n in (users, items))
    return Distances(*draw)


def exact(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    difference = left[:, None].astype(np.float64) - right[None]
    return np.asarray(-np.sum(difference**2, axis=2))


def test_scores_are_minus_the_squared_distance() -> None:
    there = points()
    scores = there.scores(np.array([4, 0, 8]))
    assert scores.dtype == np.float32
    assert scores.flags.c_contiguous
    expected = exact(there.user_vectors[[4, 0, 8]], there.item_vectors)
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_one_query_is_scored_like_many() -> None:
    there = points()
    one = there.score(there.user_vectors[3])
    assert one.shape == (1, 31)
    np.testing.assert_allclose(one[0], there.scores(np.arange(9))[3], atol=1e-5)


@pytest.mark.parametrize("away", [0.0, 10.0, 300.0])
def test_far_from_the_origin_the_order_is_still_right(away: float) -> None:
    """|b|^2 and |d|^2 are 540,000 at 300: the plain sum would lose all digits of the distance."""
    near = points(1)
    moved = Distances(near.user_vectors + np.float32(away), near.item_vectors + np.float32(away))
    expected = exact(moved.user_vectors, moved.item_vectors)
    scores = moved.scores(np.arange(9))
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(np.argsort(-scores, axis=1), np.argsort(-expected, axis=1))


def test_no_score_is_above_zero_even_between_equal_points() -> None:
    rng = np.random.default_rng(2)
    same = rng.standard_normal((200, 64)).astype(np.float32)
    scores = Distances(same, same).scores(np.arange(200))
    assert scores.max() <= 0
    np.testing.assert_allclose(np.diag(scores), 0, atol=1e-4)
    assert (scores.argmax(axis=1) == np.arange(200)).all()


def test_items_and_users_are_compared_by_distance() -> None:
    there = points(3)
    for among, rows in (
        (there.among_items(), there.item_vectors),
        (there.among_users(), there.user_vectors),
    ):
        assert isinstance(among, Distances)
        found = among.scores(np.arange(len(rows)))
        np.testing.assert_allclose(found, exact(rows, rows), rtol=1e-5, atol=1e-5)
    likeness = there.likeness(np.array([5, 7]), 2)
    expected = exact(there.item_vectors[[5, 7]], there.item_vectors[[2]])[:, 0]
    np.testing.assert_allclose(likeness, expected, rtol=1e-5, atol=1e-5)


def test_tensors_round_trip() -> None:
    there = points(4)
    tensors = there.tensors()
    again = representation_class("distances").from_tensors(tensors)
    assert set(tensors) == {"user_vectors", "item_vectors"}
    assert there.nbytes == 4 * 6 * (9 + 31)
    users = np.arange(9)
    assert again.scores(users).tobytes() == there.scores(users).tobytes()


def test_scoring_leaves_the_vectors_alone() -> None:
    there = points(5)
    before = [tensor.tobytes() for tensor in there.tensors().values()]
    there.scores(np.arange(9))
    assert before == [tensor.tobytes() for tensor in there.tensors().values()]
