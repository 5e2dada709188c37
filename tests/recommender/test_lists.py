"""Lists of many users and items, of what is popular, of a choice of items; scores; notebooks."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xorec
from xorec.core.errors import OptionError, UnknownIdError
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.recommender import recommender
from xorec.recommender.recommender import Recommender
from xorec.recommender.results import RecommendationLists, Recommendations, Recommended
from xorec.representations.codes import Codes
from xorec.testing.data import checkerboard, planted

DATA = planted(40, 80, per_user=6)


@cache
def _shop() -> xorec.Recommender:
    return xorec.Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA)


@pytest.mark.parametrize(
    "users",
    [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        np.array([1, 2, 3]),
        pd.Series([1, 2, 3], index=["a", "b", "c"]),
        pl.Series([1, 2, 3]),
    ],
    ids=lambda users: type(users).__module__.split(".")[0] + "." + type(users).__name__,
)
def test_a_list_of_users_gets_a_list_of_lists(users: list[int]) -> None:
    lists = _shop().recommend(users, k=4)
    assert isinstance(lists, RecommendationLists)
    assert lists.ids() == [_shop().recommend(user, k=4).ids() for user in (1, 2, 3)]
    assert [one.query for one in lists] == [1, 2, 3]
    assert lists.ids() == _shop().recommend_many([1, 2, 3], k=4).ids()


def test_an_array_of_one_number_is_one_user() -> None:
    assert _shop().recommend(np.array(1)).ids() == _shop().recommend(np.int64(1)).ids()


def test_a_string_is_no_list_of_items() -> None:
    with pytest.raises(OptionError, match=r"give \['tea'\], not 'tea'"):
        _shop().recommend_for("tea")
    with pytest.raises(OptionError, match="a list of items is asked for"):
        _shop().recommend(1, deny="tea")


def test_no_users_get_no_lists() -> None:
    assert _shop().recommend([]) == []
    assert _shop().recommend([]).to_frame().columns == ["user", "rank", "item", "score"]


def test_a_notebook_shows_the_first_lists_escaped() -> None:
    lists = RecommendationLists(
        Recommendations(f"<user {n}>", (Recommended("<b>", "a & b", 0.5),)) for n in range(7)
    )
    html = lists._repr_html_()
    assert html.count("<table>") == 5
    assert "&lt;user 0&gt;" in html
    assert "<td>&lt;b&gt;</td><td>a &amp; b</td>" in html
    assert html.endswith("... and 2 more lists")
    assert repr(lists).endswith("... and 2 more lists")


@pytest.mark.parametrize(
    ("users", "asked", "hint"),
    [
        ([1, 2], "1", "user '1' is not in the model: ids here are integers, did you mean 1?"),
        (["1", "2"], 1, "user 1 is not in the model: ids here are strings, did you mean '1'?"),
        (["1", "2"], " 1", "user ' 1' is not in the model: did you mean '1'?"),
        (["Ann", "Bob"], "ann", "user 'ann' is not in the model: did you mean 'Ann'? For a"),
        (["anna", "bob"], "annna", "user 'annna' is not in the model: did you mean 'anna'?"),
        (["u11", "u12"], "u13", "user 'u13' is not in the model: for a new user"),
        ([1, 2], 3, "user 3 is not in the model: for a new user"),
        ([1, 2], "ann", "user 'ann' is not in the model: for a new user"),
    ],
)
def test_an_id_of_another_type_gets_a_hint(users: list[object], asked: object, hint: str) -> None:
    data = [(user, item) for user in users for item in users]
    shop = xorec.Recommender.from_model(xorec.Popularity().fit(data), data)
    for ask in (shop.recommend, lambda user: shop.recommend([user])):
        with pytest.raises(UnknownIdError) as error:
            ask(asked)
        assert str(error.value).startswith(hint)
    if "did you mean" in hint:
        wanted = hint.replace("user", "item").partition("?")[0]
        with pytest.raises(UnknownIdError, match=rf"{wanted}\? Ids look like "):
            shop.recommend_for([asked])


def test_scores_are_those_of_the_list_in_the_order_asked_for() -> None:
    best = _shop().recommend(3, k=80, seen=True)
    asked = best.ids()[::-1]
    scores = _shop().scores(3, asked)
    assert scores.dtype == np.float32
    assert scores.tolist() == [one.score for one in best.items][::-1]
    assert scores[0] == _shop().explain(3, asked[0]).score


def test_without_items_it_is_all_of_them_by_row() -> None:
    scores = _shop().scores(3)
    assert scores.shape == (80,)
    assert scores.tolist() == _shop().scores(3, _shop().item_ids).tolist()


@pytest.mark.parametrize("at_once", [1, 2, 256])
def test_many_users_have_a_row_each(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommender, "_SCORED_AT_ONCE", at_once)
    scores = _shop().scores([5, 3, 5], [1007, 1001])
    assert scores.shape == (3, 2)
    assert scores.tolist() == [_shop().scores(user, [1007, 1001]).tolist() for user in (5, 3, 5)]
    assert _shop().scores(np.array(5), [1001]).shape == (1,)
    assert _shop().scores([], [1001]).shape == (0, 1)


@cache
def _popular() -> xorec.Recommender:
    return xorec.Recommender.from_model(xorec.Popularity().fit(DATA), DATA)


def test_it_is_what_the_popularity_model_gives_to_a_user_without_items() -> None:
    best, scores = _popular().popular(80), _popular().recommend(3, k=80, seen=True)
    assert best.ids() == scores.ids()
    counts = dict(zip(DATA.items, DATA.item_counts.tolist(), strict=True))
    assert [one.score for one in best.items] == [counts[one] for one in best.ids()]


def test_popular_items_by_allow_and_deny() -> None:
    every = _popular().popular(80).ids()
    assert _popular().popular(3, deny=every[:2]).ids() == every[2:5]
    for allow in (every[1::2], _popular().item_filter(every[1::2])):
        assert _popular().popular(3, allow=allow, deny=every[:2]).ids() == every[3:8:2]


def test_an_update_counts_for_what_is_popular() -> None:
    rare = _popular().popular(80).ids()[-1]
    after = _popular().update([(user, rare) for user in range(40)])
    assert after.popular(1).ids() == [rare]
    assert _popular().popular(80).ids()[-1] == rare


BLEND = xorec.Blend(start={"epochs": 1}, weight=0.5)
FLOATS = xorec.DSIML(bits=16, optimizer="none", asymmetric=True, start={"epochs": 1})


@pytest.mark.parametrize("items", [[1001, 1000], (1001, 1000), np.array([1001, 1000])])
def test_a_list_of_items_gets_a_list_of_lists(items: list[int]) -> None:
    lists = _shop().similar(items, k=4)
    assert [one.query for one in lists] == [1001, 1000]
    assert lists.ids() == [_shop().similar(1001, k=4).ids(), _shop().similar(1000, k=4).ids()]
    assert [*lists[0].to_dict()] == ["item", "items"]


def test_the_frame_has_the_columns_of_the_file_of_all_items() -> None:
    first, second = _shop().similar([1001, 1000], k=2)
    frame = _shop().similar([1001, 1000], k=2).to_frame()
    assert frame.columns == ["item", "rank", "similar", "score"]
    assert frame["item"].to_list() == [1001, 1001, 1000, 1000]
    assert frame["similar"].to_list() == first.ids() + second.ids()
    assert _shop().similar([]) == []


def test_the_list_is_the_full_one_without_the_others() -> None:
    every = _shop().similar(1001, k=80).ids()
    denied, allowed = every[:3], every[1::2]
    assert _shop().similar(1001, k=5, deny=denied).ids() == every[3:8]
    assert _shop().similar(1001, k=5, allow=allowed).ids() == allowed[:5]
    assert _shop().similar(1001, k=5, allow=allowed, deny=denied).ids() == allowed[1:6]


@pytest.mark.parametrize("model", [xorec.ItemKNN(), BLEND, FLOATS], ids=lambda model: model.name)
def test_a_filter_is_for_both_kinds_of_lists(model: xorec.ItemKNN) -> None:
    """A blend finds lists by codes, and similar items by vectors; float users by look-up tables."""
    shop = xorec.Recommender.from_model(model.fit(DATA), DATA)
    every = shop.similar(1001, k=80).ids()
    in_stock = shop.item_filter(every[1::2])
    for _ in range(2):  # prepared for one index, then for the other
        assert shop.similar(1001, k=5, allow=in_stock).ids() == every[1:10:2]
        assert {*shop.recommend(3, k=80, allow=in_stock).ids()} <= {*every[1::2]}


MODELS = [xorec.ItemKNN(), xorec.DSIML(bits=16, epochs=1), xorec.BPR(epochs=1)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_of_another_model(model: xorec.ItemKNN, tmp_path: Path) -> None:
    data, other = planted(30, 20, per_user=4), planted(30, 25, per_user=4)
    shop = Recommender.from_model(model.fit(data), data)
    strange = Recommender.from_model(xorec.BPR(epochs=1).fit(other), other)
    chosen = shop.item_filter(shop.item_ids.take(range(0, 20, 2)))
    user = shop.user_ids[0]
    expected = shop.recommend(user, allow=chosen).ids()
    assert expected
    assert len(chosen) == 10
    with pytest.raises(OptionError, match="other items: make it again"):
        strange.recommend(strange.user_ids[0], allow=chosen)
    with pytest.raises(OptionError, match="other items"):
        strange.recommend_many([strange.user_ids[0]], allow=chosen)
    shop.save(tmp_path / "m")
    for copy in (pickle.loads(pickle.dumps(shop)), Recommender.load(tmp_path / "m")):
        assert copy.recommend(user, allow=chosen).ids() == expected
        assert copy.recommend(user, allow=pickle.loads(pickle.dumps(chosen))).ids() == expected
    assert shop.recommend(user, allow=chosen).ids() == expected


def test_of_a_model_with_as_many_other_items() -> None:
    """Rows are rows of other items there."""
    data = planted(30, 20, per_user=4)
    other = xorec.read([(user, f"item {item}") for user in range(9) for item in range(20)])
    shop, strange = (Recommender.from_model(xorec.ItemKNN().fit(one), one) for one in (data, other))
    assert len(shop.item_ids) == len(strange.item_ids)
    with pytest.raises(OptionError, match="other items: make it again"):
        strange.recommend(0, seen=True, allow=shop.item_filter([shop.item_ids[0]]))


@pytest.fixture(scope="module")
def board() -> Recommender:
    data = checkerboard()
    return Recommender.from_model(ItemKNN().fit(data), data)


def test_lists_are_ranked_by_score_then_tie_rule(board: Recommender) -> None:
    user = board.user_ids.find("u08")
    scores = board.representation.scores(np.array([user]))[0]
    best = board.recommend("u08", 50, seen=True)
    rows = [board.item_ids.find(one) for one in best.ids()]
    assert rows == sorted(range(50), key=lambda row: (-scores[row], board.tie_rank[row]))
    assert [one.score for one in best.items] == [scores[row] for row in rows]


def test_allow_and_deny(board: Recommender) -> None:
    assert board.recommend("u08", 9, allow=["i03", "i08", "i04"]).ids() == ["i08", "i03"]
    assert board.recommend("u08", 9, allow=[]).ids() == []
    assert "i08" not in board.recommend("u08", 50, deny=["i08"]).ids()


def test_of_users_alike_those_with_more_items_come_first() -> None:
    """All codes are equal, so the tie rule alone orders them: by items, not by row."""
    own = {"ann": "x", "bob": "xyz", "cy": "xy", "dee": "z"}
    data = Interactions.from_pairs([(user, item) for user, items in own.items() for item in items])
    model = Popularity().fit(data)
    shop = Recommender.from_model(model, data)
    codes = Codes.from_signs(np.ones((4, 8)), np.ones((3, 8)))
    assert replace(shop, representation=codes).similar_users("dee").ids()[:2] == ["bob", "cy"]


def test_the_tie_rule_is_that_of_evaluation() -> None:
    data = planted(60, 40)
    shop = Recommender.from_model(Popularity().fit(data), data)
    np.testing.assert_array_equal(shop.tie_rank, tie_rank(data.items, data.item_counts))
    np.testing.assert_array_equal(shop.item_counts, data.item_counts)
