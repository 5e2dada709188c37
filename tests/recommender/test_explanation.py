"""Explanations against plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.core.errors import OptionError, UnknownIdError
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.testing.data import planted

DATA = planted(60, 40)
QUICK: dict[str, Any] = {"bits": 24, "epochs": 2, "start": {"epochs": 5}}
PERSONAL: dict[str, Model[Any]] = {
    "item-knn": ItemKNN(neighbours=6),
    "bpr": BPR(epochs=5, dimensions=8),
    "dsiml": DSIML(**QUICK),
    "asymmetric": DSIML(**QUICK, asymmetric=True),
}


@pytest.fixture(scope="module", params=[*PERSONAL])
def shop(request: pytest.FixtureRequest) -> Recommender:
    return Recommender.from_model(PERSONAL[request.param].fit(DATA), DATA)


@pytest.fixture(scope="module")
def codes() -> Recommender:
    return Recommender.from_model(PERSONAL["dsiml"].fit(DATA), DATA)


def own_items(user: int) -> list[int]:
    return [int(row) for row in DATA.of_user(user)]


@pytest.mark.parametrize("user", [0, 7, 33])
def test_score_and_rank_are_those_of_the_list(shop: Recommender, user: int) -> None:
    for rank, one in enumerate(shop.recommend(user, 40).items, start=1):
        why = shop.explain(user, one.id)
        assert (why.user, why.item, why.name) == (user, one.id, one.name)
        assert (why.score, why.rank, why.seen) == (one.score, rank, False)


@pytest.mark.parametrize("user", [0, 7, 33])
def test_an_item_that_the_user_has_is_said_to_be_seen(shop: Recommender, user: int) -> None:
    for row in own_items(user):
        item = DATA.items[row]
        why = shop.explain(user, item, k=40)
        assert why.seen
        assert why.rank is None
        assert {one.id for one in why.because} == {*DATA.items.take(own_items(user))} - {item}


@pytest.mark.parametrize("item", [1000, 1013, 1039])
def test_reasons_are_the_nearest_own_items(shop: Recommender, item: int) -> None:
    """Nearest first, ties by the tie rule, against a sort of all of the user's items."""
    learned, row = shop.representation, shop.item_ids.find(item)
    for user in range(0, 60, 7):
        own = [one for one in own_items(user) if one != row]
        alike = {one: float(learned.likeness(np.array([one]), row)[0]) for one in own}
        nearest = sorted(own, key=lambda one: (-alike[one], shop.tie_rank[one]))[:4]
        because = shop.explain(user, item, k=4).because
        assert [one.id for one in because] == shop.item_ids.take(nearest)
        assert [one.score for one in because] == [alike[one] for one in nearest]


def test_likeness_of_vectors_is_their_cosine() -> None:
    shop = Recommender.from_model(PERSONAL["bpr"].fit(DATA), DATA)
    vectors = shop.representation.tensors()["item_vectors"]
    for one in shop.explain(4, 1011).because:
        v, w = vectors[shop.item_ids.find(one.id)], vectors[11]
        assert one.score == pytest.approx(v @ w / np.sqrt((v @ v) * (w @ w)), abs=1e-5)


def test_bits_are_counted_one_by_one(codes: Recommender) -> None:
    learned = codes.representation
    assert isinstance(learned, Codes)
    users, items = (unpack_signs(c, 24) for c in (learned.user_codes, learned.item_codes))
    for user in (0, 9, 59):
        for row in range(40):
            why = codes.explain(user, DATA.items[row])
            agreed = sum(int(a == b) for a, b in zip(users[user], items[row], strict=True))
            assert (why.bits, why.bits_agreed, why.distance) == (24, agreed, 24 - agreed)
            assert why.score == pytest.approx(agreed / 24)
            for one in why.because:
                differ = items[codes.item_ids.find(one.id)] != items[row]
                assert one.distance == np.count_nonzero(differ)


def test_with_float_users_the_bits_are_those_of_their_signs() -> None:
    shop = Recommender.from_model(PERSONAL["asymmetric"].fit(DATA), DATA)
    learned = shop.representation
    assert isinstance(learned, Codes)
    assert learned.user_vectors is not None
    items = unpack_signs(learned.item_codes, 24)
    why = shop.explain(5, 1003)
    signs = np.where(learned.user_vectors[5] >= 0, 1, -1)
    assert why.bits_agreed == np.count_nonzero(signs == items[3])
    assert why.score == pytest.approx(float(learned.user_vectors[5] @ items[3]), abs=1e-4)


def test_the_reasons_of_item_knn_sum_to_its_score() -> None:
    shop = Recommender.from_model(PERSONAL["item-knn"].fit(DATA), DATA)
    for user in (0, 9, 59):
        for one in shop.recommend(user, 40).items:
            why = shop.explain(user, one.id, k=40)
            assert sum(part.score for part in why.because) == pytest.approx(why.score, abs=1e-5)
            assert (why.bits, why.bits_agreed, why.distance) == (None, None, None)


def test_popularity_says_so_and_has_no_reasons_of_the_user() -> None:
    shop = Recommender.from_model(Popularity().fit(DATA), DATA)
    why = shop.explain(3, 1007)
    assert why.score == DATA.item_counts[7]
    assert "popularity" in why.score_description
    assert why.because == ()


def test_somebody_new(shop: Recommender) -> None:
    history = [1004, 1009, 1014, 1009]
    listed = shop.recommend_for(history, 40)
    for rank, one in enumerate(listed.items, start=1):
        why = shop.explain_for(history, one.id)
        assert (why.user, why.score, why.rank, why.seen) == (history, one.score, rank, False)
        assert sorted(reason.id for reason in why.because) == [1004, 1009, 1014]
    assert shop.explain_for(history, 1009).seen


def test_what_is_unknown_is_named(codes: Recommender) -> None:
    with pytest.raises(UnknownIdError, match="user 999 is not in the model"):
        codes.explain(999, 1000)
    with pytest.raises(UnknownIdError, match="item 5 is not in the model"):
        codes.explain(0, 5)
    with pytest.raises(OptionError, match="at least one item"):
        codes.explain_for([], 1000)
    with pytest.raises(OptionError, match="k is 0"):
        codes.explain(0, 1000, k=0)
