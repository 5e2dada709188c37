"""What the recommender answers: as a table, a frame, JSON and in a notebook."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.data.interactions import Interactions
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.hashing.phd import PHD
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.recommender.results import Recommendations, Recommended
from xorec.recommender.updating import UpdateSummary
from xorec.representations.codes import Codes
from xorec.testing.data import planted

DATA = planted(60, 40)
LIST = Recommendations("ann", (Recommended("<b>", "Tea & milk", 0.5, 3), Recommended("y", "", 1.0)))


@pytest.fixture(scope="module")
def codes() -> Recommender:
    model = DSIML(bits=24, epochs=2, start={"epochs": 3})
    return Recommender.from_model(model.fit(DATA), DATA)


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


def test_an_update_summary_counts_what_is_new(codes: Recommender) -> None:
    after = codes.update(Interactions.from_pairs([(0, 5000), (777, 5000), (777, 1000)]))
    assert UpdateSummary.of(codes, after).to_dict() == {
        "new": {"users": 1, "items": 1, "pairs": 3},
        "data": after.metadata["data"],
    }


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
    learned = shop.representation
    assert isinstance(learned, Codes)
    users, items = (unpack_signs(c, bits) for c in (learned.user_codes, learned.item_codes))
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
    learned = shop.representation
    assert isinstance(learned, Codes)
    users, items = (unpack_signs(c, 24) > 0 for c in (learned.user_codes, learned.item_codes))
    for one in shop.recommend(7, 40).items:
        lacking = users[7] & ~items[shop.item_ids.find(one.id)]
        assert one.distance == np.count_nonzero(lacking)
