"""What the recommender answers, as a table, a frame, JSON; explanations against plain counting."""

from __future__ import annotations

import json
import uuid
from typing import Any

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.core.errors import OptionError, UnknownIdError
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.models.factorization.bpr import BPR
from xorec.models.hashing.phd import PHD
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.recommender.results import Recommendations, Recommended
from xorec.testing.data import planted

DATA = planted(60, 40)
LIST = Recommendations("ann", (Recommended("<b>", "Tea & milk", 0.5, 3), Recommended("y", "", 1.0)))


def test_to_dict_is_json() -> None:
    assert json.loads(json.dumps(LIST.to_dict())) == {
        "user": "ann",
        "items": [
            {"id": "<b>", "name": "Tea & milk", "distance": 3, "score": 0.5},
            {"id": "y", "name": "", "distance": None, "score": 1.0},
        ],
    }


def test_ids_of_other_kinds_are_text_in_json() -> None:
    one = uuid.UUID(int=7)
    best = Recommendations([one], (Recommended(one, None, float("nan")),), "user")
    row = {"id": str(one), "name": None, "distance": None, "score": None}
    assert best.to_dict() == {"user": [str(one)], "items": [row]}


def test_what_was_asked_for_names_the_keys(codes: Recommender) -> None:
    assert [*codes.recommend(0, 3).to_dict()] == ["user", "items"]
    assert [*codes.similar(1000, 3).to_dict()] == ["item", "items"]
    assert [*codes.similar_users(0, 3).to_dict()] == ["user", "users"]
    assert codes.recommend_for([1000, 1001], 3).to_dict()["user"] == [1000, 1001]


def test_an_explanation_as_json(codes: Recommender) -> None:
    why = codes.explain(0, 1003, 2)
    found = json.loads(json.dumps(why.to_dict()))
    assert found["because"] == [one.to_dict() for one in why.because]
    assert len(found["because"]) == 2
    assert found["score_is"] == why.score_description
    same = ("user", "item", "name", "score", "seen", "rank", "bits", "bits_agreed", "distance")
    assert {name: found[name] for name in same} == {name: getattr(why, name) for name in same}


def test_the_table() -> None:
    assert str(LIST).splitlines() == [
        "for user ann:",
        "rank  item  name         score  distance",
        "   1  <b>   Tea & milk  0.5000         3",
        "   2  y                 1.0000",
    ]
    assert str(Recommendations(3, (), "item")) == "for item 3:\nrank  item  score"


def test_a_frame_has_distances_where_codes_rank(codes: Recommender) -> None:
    frame = codes.recommend(0, 3).to_frame()
    assert frame.columns == ["rank", "item", "name", "score", "distance"]
    assert frame["rank"].to_list() == [1, 2, 3]
    floats = Recommender.from_model(ItemKNN().fit(DATA), DATA).recommend(0, 3).to_frame()
    assert floats.columns == ["rank", "item", "name", "score"]


def test_a_frame_of_one_list_calls_things_as_one_of_many_does(codes: Recommender) -> None:
    one, many = codes.recommend(0, 3).to_frame(), codes.recommend([0, 1], 3).to_frame()
    assert one["item"].to_list() == codes.recommend(0, 3).ids()
    assert many.columns == ["user", "rank", "item", "score", "distance"]
    assert many["user"].to_list() == [0, 0, 0, 1, 1, 1]
    assert many["rank"].to_list() == [1, 2, 3, 1, 2, 3]
    assert many["item"].to_list() == one["item"].to_list() + codes.recommend(1, 3).ids()
    alike = codes.similar_users(0, 3)
    assert alike.to_frame()["user"].to_list() == alike.ids()


@pytest.mark.parametrize("bits", [24, 120])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_distances_are_counted_not_computed_from_scores(bits: int, asymmetric: bool) -> None:
    model = DSIML(bits=bits, optimizer="none", asymmetric=asymmetric, start={"epochs": 2})
    shop = Recommender.from_model(model.fit(DATA), DATA)
    users, items = (unpack_signs(c, bits) for c in (shop.user_codes, shop.item_codes))
    for one in shop.recommend(7, 40).items:
        differ = np.count_nonzero(users[7] != items[shop.item_ids.find(one.id)])
        assert one.distance == (None if asymmetric else differ)
    for one in shop.similar(1005, 39).items:
        assert one.distance == np.count_nonzero(items[5] != items[shop.item_ids.find(one.id)])
    for one in shop.similar_users(7, 59).items:
        assert one.distance == np.count_nonzero(users[7] != users[shop.user_ids.find(one.id)])
    for one in shop.explain(7, 1005).because:
        assert one.distance == np.count_nonzero(items[5] != items[shop.item_ids.find(one.id)])


def test_distances_of_masked_codes_are_what_the_item_lacks() -> None:
    shop = Recommender.from_model(PHD(bits=24, epochs=1).fit(DATA), DATA)
    users, items = (unpack_signs(c, 24) > 0 for c in (shop.user_codes, shop.item_codes))
    for one in shop.recommend(7, 40).items:
        lacking = users[7] & ~items[shop.item_ids.find(one.id)]
        assert one.distance == np.count_nonzero(lacking)


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
    users, items = (unpack_signs(c, 24) for c in (codes.user_codes, codes.item_codes))
    for user in (0, 9, 59):
        for row in range(40):
            why = codes.explain(user, DATA.items[row])
            agreed = sum(int(a == b) for a, b in zip(users[user], items[row], strict=True))
            assert (why.bits, why.bits_agreed, why.distance) == (24, agreed, 24 - agreed)
            assert why.score == pytest.approx(agreed / 24)


def test_with_float_users_the_bits_are_those_of_their_signs() -> None:
    shop = Recommender.from_model(PERSONAL["asymmetric"].fit(DATA), DATA)
    items, vector = unpack_signs(shop.item_codes, 24), shop.user_vectors[5]
    why = shop.explain(5, 1003)
    signs = np.where(vector >= 0, 1, -1)
    assert why.bits_agreed == np.count_nonzero(signs == items[3])
    assert why.score == pytest.approx(float(vector @ items[3]), abs=1e-4)


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
