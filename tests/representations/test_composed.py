from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.errors import DataError
from xorec.representations.composed import ComposedCodes, ComposedQueries, group_bytes

SHAPES = [(1, 1), (8, 1), (20, 4), (20, 2), (64, 8), (64, 4), (100, 5), (256, 1), (300, 1)]
"""(bits, groups)"""


def make(bits: int, groups: int, items: int = 31) -> ComposedCodes:
    rng = np.random.default_rng(0)
    codes = [pack_signs(rng.standard_normal((n, bits))) for n in (9, items)]
    weights = [rng.random((n, groups)).astype(np.float32) for n in (9, items)]
    for own in weights:
        own[rng.random(own.shape) < 0.3] = 0
    return ComposedCodes(codes[0], codes[1], weights[0], weights[1], bits)


def exact(codes: ComposedCodes, wide: Any = np.float64) -> Any:
    """sum_g xi (eta (b.d)), group after group, in floats of this width."""
    users = unpack_signs(codes.user_codes, codes.bits).reshape(codes.n_users, codes.groups, -1)
    items = unpack_signs(codes.item_codes, codes.bits).reshape(codes.n_items, codes.groups, -1)
    scores = np.zeros((codes.n_users, codes.n_items), dtype=wide)
    for g in range(codes.groups):
        agree = (users[:, g].astype(int) @ items[:, g].T.astype(int)).astype(wide)
        eta, xi = codes.user_weights[:, g].astype(wide), codes.item_weights[:, g].astype(wide)
        scores += xi[None] * (eta[:, None] * agree)
    return scores


@pytest.mark.parametrize(("bits", "groups"), SHAPES)
def test_scores_are_the_weighted_agreements_of_the_groups(bits: int, groups: int) -> None:
    codes = make(bits, groups, items=600)  # more than a block
    scores = codes.scores(np.arange(9))
    np.testing.assert_allclose(scores, exact(codes), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(scores, exact(codes, np.float32))


def test_queries_are_cut_like_an_array() -> None:
    codes = make(20, 4)
    queries = codes.queries(np.arange(9))
    assert (len(queries), queries.shape) == (9, (9, 1))
    for which in (slice(2, 5), np.array([3, 1]), np.arange(9) > 6):
        part = queries[which]
        np.testing.assert_array_equal(part.words, codes.user_codes[which])
        np.testing.assert_array_equal(part.weights, codes.user_weights[which])
    assert len(queries[4]) == 1


def test_groups_become_whole_bytes() -> None:
    codes = make(100, 5)
    found = group_bytes(codes.item_codes, 100, 5).reshape(31, 5, 3)
    bits = np.unpackbits(found, axis=2, bitorder="little")
    signs = unpack_signs(codes.item_codes, 100).reshape(31, 5, 20)
    np.testing.assert_array_equal(bits[:, :, :20], signs > 0)
    assert not bits[:, :, 20:].any()


def test_items_and_users_among_themselves() -> None:
    codes = make(20, 4)
    sides = (
        (codes.among_items(), codes.item_codes, codes.item_weights),
        (codes.among_users(), codes.user_codes, codes.user_weights),
    )
    for among, words, weights in sides:
        expected = exact(ComposedCodes(words, words, weights, weights, 20), np.float32)
        np.testing.assert_array_equal(among.scores(np.arange(len(words))), expected)
    np.testing.assert_array_equal(codes.similar(np.arange(31)), sides[0][0].scores(np.arange(31)))
    agreed = unpack_signs(codes.user_codes[3:4], 20) == unpack_signs(codes.item_codes[5:6], 20)
    assert codes.bits_agreed(codes.queries(np.array([3])), 5) == agreed.sum()
    assert codes.item_distances(np.arange(31), 5) is None


def test_bad_input_is_refused() -> None:
    codes = make(20, 4)
    words, weights = codes.item_codes, codes.item_weights
    for users, items, bits, message in (
        (weights[:, :3], weights[:, :3], 20, "20 bits do not make 3 groups"),
        (weights, weights, 80, r"80 bits need uint64 of shape \(n, 2\)"),
        (weights[1:], weights, 20, r"user weights have shape \(30, 4\)"),
        (weights, weights * np.float32(np.nan), 20, "item weights have NaN"),
    ):
        with pytest.raises(DataError, match=message):
            ComposedCodes(words, words, users, items, bits)
    with pytest.raises(DataError, match=r"words and weights of shape \(1,\) and \(3,\)"):
        codes.score(ComposedQueries(words[:1], weights[:1, :3]))
    with pytest.raises(DataError, match="queries have NaN"):
        codes.score(ComposedQueries(words[:1], np.full((1, 4), np.inf, dtype=np.float32)))
