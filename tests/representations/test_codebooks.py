from __future__ import annotations

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.representations.codebooks import Codebooks

SHAPES = [(1, 2, 5), (8, 256, 16), (3, 40, 7), (20, 16, 64)]
"""(books, words, dimensions)"""


def make(books: int, words: int, size: int, users: int = 9, items: int = 31) -> Codebooks:
    rng = np.random.default_rng(books)
    return Codebooks(
        rng.standard_normal((users, size)).astype(np.float32),
        rng.integers(words, size=(items, books)).astype(np.uint8),
        rng.standard_normal((books, words, size)).astype(np.float32),
    )


def exact(codes: Codebooks) -> np.ndarray:
    """u . sum of words, by plain loops in float64."""
    scores = np.zeros((codes.n_users, codes.n_items))
    for u, user in enumerate(codes.user_vectors.astype(np.float64)):
        for i, words in enumerate(codes.item_codes):
            item = sum(codes.codebooks[b, w].astype(np.float64) for b, w in enumerate(words))
            scores[u, i] = user @ item
    return scores


@pytest.mark.parametrize(("books", "words", "size"), SHAPES)
def test_scores_are_products_with_sums_of_words(books: int, words: int, size: int) -> None:
    codes = make(books, words, size)
    np.testing.assert_allclose(codes.scores(np.arange(9)), exact(codes), rtol=1e-4, atol=1e-4)
    products = codes.user_vectors.astype(np.float64) @ codes.item_vectors.T.astype(np.float64)
    np.testing.assert_allclose(products, exact(codes), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("users", [1, 2, 8, 9, 17])
def test_a_score_does_not_depend_on_who_stands_beside(users: int) -> None:
    codes = make(8, 256, 16, users, 1300)
    tables = codes.tables(codes.user_vectors)
    expected = np.zeros((users, 1300), dtype=np.float32)
    for b in range(8):
        expected += tables[:, b, codes.item_codes[:, b]]
    scores = codes.scores(np.arange(users))
    np.testing.assert_array_equal(scores, expected)
    for user in range(users):
        np.testing.assert_array_equal(codes.scores(np.array([user]))[0], scores[user])


def test_items_and_users_among_themselves_are_cosines() -> None:
    codes = make(3, 40, 7)
    unit = codes.item_vectors / np.linalg.norm(codes.item_vectors, axis=1)[:, None]
    np.testing.assert_allclose(codes.similar(np.arange(31)), unit @ unit.T, atol=1e-5)
    assert codes.among_users().n_items == 9
    assert codes.metadata() == {"codebooks": {"books": 3, "words": 40, "dimensions": 7}}


def test_bad_input_is_refused() -> None:
    codes = make(3, 40, 7)
    users, items, books = codes.user_vectors, codes.item_codes, codes.codebooks
    for given, message in (
        ((users, items[:, :2], books), r"codebooks has the shape \(3, 40, 7\): 3 should be 2"),
        ((users, items.astype(np.int32), books), "item_codes is int32"),
        ((users, items, books[:, :39]), "item_codes has the value 39 but 0 to 38 are possible"),
        ((users[:, :6], items, books), r"codebooks has the shape \(3, 40, 7\): 7 should be 6"),
        ((users, items, np.zeros((3, 257, 7), np.float32)), "has 257 words: give 1 to 256"),
    ):
        with pytest.raises(DataError, match=message):
            Codebooks(*given)
