"""Masked, composed and coded items through all that a recommender does with a representation."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.core.bits import pack_signs
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.protocol import evaluate
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.search.top_k import top_k
from xorec.testing.data import planted

DATA = planted(90, 60, per_user=12)


def masked() -> MaskedCodes:
    rng = np.random.default_rng(0)
    return MaskedCodes.from_bits(rng.random((90, 20)) < 0.5, rng.random((60, 20)) < 0.5)


def composed() -> ComposedCodes:
    rng = np.random.default_rng(0)
    codes = [pack_signs(rng.standard_normal((n, 20))) for n in (90, 60)]
    weights = [rng.random((n, 4)).astype(np.float32) for n in (90, 60)]
    return ComposedCodes(codes[0], codes[1], weights[0], weights[1], 20)


def codebooks() -> Codebooks:
    rng = np.random.default_rng(0)
    users, books = rng.standard_normal((90, 8)), rng.standard_normal((3, 40, 8))
    codes = rng.integers(40, size=(60, 3)).astype(np.uint8)
    return Codebooks(users.astype(np.float32), codes, books.astype(np.float32))


@pytest.fixture(scope="module", params=[masked, composed, codebooks])
def learned(request: pytest.FixtureRequest) -> Representation:
    found: Representation = request.param()
    return found


@pytest.fixture(scope="module")
def shop(learned: Representation) -> Recommender:
    return Recommender(
        learned,
        user_ids=DATA.users,
        item_ids=DATA.items,
        seen=(DATA.indptr, DATA.indices),
        item_counts=DATA.item_counts,
        tie_rank=tie_rank(DATA.items, DATA.item_counts),
        metadata={"model": "x", "config": {}, **learned.metadata()},
    )


def test_lists_are_the_best_scores_of_what_is_not_seen(shop: Recommender) -> None:
    scores = shop.representation.scores(np.arange(90))
    expected = top_k(scores, 7, shop.tie_rank, shop.seen)
    for row in (0, 5, 89):
        one = shop.recommend(shop.user_ids[row], 7)
        assert one.ids() == [shop.item_ids[int(item)] for item in expected.items[row]]
        assert [i.score for i in one.items] == expected.scores[row].tolist()
    lists = batch.for_all_users(shop, 7)
    (block,) = lists.blocks(RunOptions(threads=2))
    np.testing.assert_array_equal(block[1].items, expected.items)
    np.testing.assert_array_equal(block[1].scores, expected.scores)


def test_explanations_agree_with_the_lists(shop: Recommender) -> None:
    user = shop.user_ids[7]
    for place, one in enumerate(shop.recommend(user, 4).items, start=1):
        why = shop.explain(user, one.id)
        assert (why.rank, why.score) == (place, one.score)
        assert one.distance is None or why.distance == one.distance
        assert len(why.because) == 5


def test_evaluation_ranks_what_is_served(learned: Representation, shop: Recommender) -> None:
    """Every user's first item of the list as the only test item: each is found at place 1."""
    first = [shop.recommend(user, 1).ids()[0] for user in list(shop.user_ids)]
    rows = np.arange(90), shop.item_ids.find_many(first)
    test = Interactions.from_rows(DATA.users, DATA.items, *rows)
    assert evaluate(learned, DATA, test, ks=(1,))["recall@1"] == 1
