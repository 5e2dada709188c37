from __future__ import annotations

import numpy as np
import pytest

from xorec.representations import representation_class
from xorec.representations.vectors import Vectors


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


@pytest.mark.parametrize("biased", [False, True])
def test_tensors_round_trip(biased: bool) -> None:
    before = make(biased)
    after = representation_class("vectors").from_tensors(before.tensors())
    rows = np.arange(9)
    assert after.scores(rows).tobytes() == before.scores(rows).tobytes()


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
