from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.two_stage import random_weights, two_stage
from xorec.core.errors import DataError
from xorec.core.threads import ThreadPool
from xorec.data.text import gather_spans
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.protocol import evaluate
from xorec.models.siml.siml import SIML
from xorec.recommender.recommender import Recommender
from xorec.representations.base import StoredAs
from xorec.representations.codes import Codes
from xorec.representations.ranking_vectors import QuantizedVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.search.two_stage import served_scores
from xorec.testing.data import halves, planted

KEEPS = ("float32", "float16", "int8")


def made(keep: Any = "float32", *, asymmetric: bool = False, size: int = 10) -> TwoStage:
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((9, 20)), rng.standard_normal((31, 20))
    codes = Codes.from_signs(users, items)
    return two_stage(codes, users, None if asymmetric else items, size, keep)


def test_what_is_kept_is_near_what_was_given() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((50, 16)) * 10.0 ** rng.integers(-3, 3, (50, 1))
    rows[7] = 0
    rows = rows.astype(np.float32)
    np.testing.assert_array_equal(QuantizedVectors.of(rows, "float32").floats(), rows)
    off = np.abs(QuantizedVectors.of(rows, "float16").floats() - rows)
    assert (off <= np.maximum(2.0**-11 * np.abs(rows), 2.0**-25)).all()
    off = np.abs(QuantizedVectors.of(rows, "int8").floats() - rows)
    assert (off <= np.abs(rows).max(axis=1, keepdims=True) / 254 * 1.001).all()
    with pytest.raises(DataError, match="too large for float16"):
        QuantizedVectors.of(np.full((1, 2), 1e6), "float16")


@pytest.mark.parametrize("keep", KEEPS)
def test_scores_are_those_of_what_is_kept(keep: Any) -> None:
    """Subnormal halves too: the kernels decode by themselves."""
    rng = np.random.default_rng(2)
    users, items = rng.standard_normal((5, 33)), rng.standard_normal((40, 33))
    items[::2] *= 2.0**-16
    shortlist = two_stage(Codes.from_signs(users, items), users, items, 3, keep)
    vectors = shortlist.float_vectors
    assert vectors is not None
    exact = vectors.user_vectors.astype(float) @ vectors.item_vectors.T.astype(float)
    every = np.tile(np.arange(40, dtype=np.int32), (5, 1)), np.full(5, 40)
    for users_at_once in (1, 5):  # one of them is answered in plain NumPy before kernels are loaded
        queries = shortlist.queries(np.arange(users_at_once))
        candidates = every[0][:users_at_once], every[1][:users_at_once]
        with ThreadPool(1) as pool:
            scores = shortlist.vector_scores(queries, candidates, pool)
        assert scores is not None
        np.testing.assert_allclose(scores, exact[:users_at_once], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("keep", KEEPS)
def test_an_item_has_its_score_wherever_it_stands_on_the_list(keep: Any, asymmetric: bool) -> None:
    shortlist, rng = made(keep, asymmetric=asymmetric), np.random.default_rng(6)
    items = np.stack([rng.permutation(31)[:12] for _ in range(9)]).astype(np.int32)
    counts = rng.integers(0, 13, 9)
    with ThreadPool(2) as pool:
        found = shortlist.vector_scores(shortlist.queries(np.arange(9)), (items, counts), pool)
    assert found is not None
    every = shortlist.scores(np.arange(9))
    for b, count in enumerate(counts):
        np.testing.assert_array_equal(found[b, :count], every[b, items[b, :count]])


def test_the_parts_of_a_score_add_up() -> None:
    rng = np.random.default_rng(7)
    vectors = made().vectors
    learned = TwoStage(made().codes, vectors, random_weights(rng, 9, 31, 5), Sources(4, 3), 0.25)
    scores = learned.scores(np.arange(9))
    for user in range(9):
        parts = learned.score_parts(learned.queries(np.array([user])), 11)
        assert sum(parts.values()) == pytest.approx(float(scores[user, 11]), abs=1e-5)


def test_a_query_is_counted_from_the_end_too() -> None:
    queries = made().queries(np.arange(9))
    for at in range(-9, 9):
        one = queries[at]
        assert len(one) == 1
        assert one.vectors is not None
        assert queries.vectors is not None
        np.testing.assert_array_equal(one.codes[0], queries.codes[at])
        np.testing.assert_array_equal(one.vectors[0], queries.vectors[at])


def test_rows_that_stay_keep_their_bytes_when_others_come() -> None:
    rng = np.random.default_rng(3)
    rows, new = rng.standard_normal((6, 5)), rng.standard_normal((3, 5)).astype(np.float32)
    for keep in KEEPS:
        old = QuantizedVectors.of(rows, keep)  # type: ignore[arg-type]
        grown = old.grown(8, np.array([2, 6, 7]), new)
        stay = [0, 1, 3, 4, 5]
        np.testing.assert_array_equal(grown.rows[stay], old.rows[stay])
        for made in (old, grown):  # a row of 64 bytes is one line of the cache
            assert made.rows.ctypes.data % 64 == 0
        np.testing.assert_array_equal(
            grown.floats(np.array([2, 6, 7])),
            QuantizedVectors.of(new, keep).floats(),  # type: ignore[arg-type]
        )


def test_what_does_not_go_together_is_refused() -> None:
    codes = Codes.from_signs(np.ones((3, 8)), np.ones((5, 8)))
    for items, size, message in (
        (np.ones((4, 6)), 10, "vectors of 3 users and 4 items, but codes of 3 and 5"),
        (None, 10, "6 numbers but the items' 8"),
        (np.ones((5, 6)), 0, "at least one item must be near"),
    ):
        with pytest.raises(DataError, match=message):
            two_stage(codes, np.ones((3, 6)), items, size)


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("size", [5, 20, 60])
def test_evaluation_equals_what_is_served(size: int, asymmetric: bool) -> None:
    """At any k up to the size; beyond it the lists have the same items in another order."""
    train, test = halves(planted(150, 120))
    model = SIML(dimensions=16, epochs=10).fit(train)
    vectors = model.representation_.tensors()
    users, items = vectors["user_vectors"], vectors["item_vectors"]
    codes = Codes.from_signs(users, items)
    shortlist = two_stage(codes, users, None if asymmetric else items, size)
    model._representation = shortlist
    recommender = Recommender.from_model(model, train)
    result = evaluate(shortlist, train, test, ks=(5, 20))
    for k in (5, 20):
        hits, dcg = [], []
        for user in np.flatnonzero(test.user_counts):
            wanted = {train.items[int(i)] for i in test.of_user(int(user))}
            found = [
                item in wanted for item in recommender.recommend(train.users[int(user)], k).ids()
            ]
            gains = 1 / np.log2(np.arange(2, k + 2))
            hits.append(sum(found) / len(wanted))
            dcg.append((gains * found).sum() / gains[: len(wanted)].sum())
        assert result[f"recall@{k}"] == pytest.approx(np.mean(hits), abs=1e-12)
        if k <= size:
            assert result[f"ndcg@{k}"] == pytest.approx(np.mean(dcg), abs=1e-12)


def test_behind_the_shortlist_comes_the_rest_by_distance() -> None:
    train = planted(40, 60)
    rng = np.random.default_rng(5)
    codes = Codes.from_signs(rng.standard_normal((40, 12)), rng.standard_normal((60, 12)))
    shortlist = two_stage(codes, -9 * rng.random((40, 3)), rng.random((60, 3)), 7)
    rank = tie_rank(train.items, train.item_counts)
    users = np.array([3, 17])
    places, indptr = gather_spans(train.indptr, users)
    scores = served_scores(shortlist, rank)(users, (indptr, train.indices[places]))
    exact, agreed = shortlist.scores(users), codes.scores(users)
    for row, user in enumerate(users):
        free = np.setdiff1d(np.arange(60), train.of_user(int(user)))
        near = free[np.lexsort((rank[free], -agreed[row, free]))]
        np.testing.assert_array_equal(scores[row, near[:7]], exact[row, near[:7]])
        order = free[np.lexsort((rank[free], -scores[row, free]))]
        assert set(order[:7]) == set(near[:7])
        np.testing.assert_array_equal(order[7:], near[7:])


@pytest.mark.parametrize("keep", ["float32", "int8"])
def test_bytes_have_scales_and_floats_have_none(keep: StoredAs) -> None:
    kept = QuantizedVectors.of(np.ones((3, 2)), keep).tensors("user")
    assert QuantizedVectors.from_tensors(kept, "user").keep == keep
    rows, scales = kept["user_vectors"], kept.get("user_scales", np.zeros(0))
    other = {"user_vectors": rows} | ({} if len(scales) else {"user_scales": np.ones(3)})
    with pytest.raises(DataError, match=f"3 user_vectors of {keep} have {3 - len(scales)} scales"):
        QuantizedVectors.from_tensors(other, "user")
