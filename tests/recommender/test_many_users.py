"""Many users in one call, ids of another type, and what a notebook shows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xorec
from xorec.core.errors import OptionError, UnknownIdError
from xorec.recommender.results import RecommendationLists, Recommendations, Recommended
from xorec.testing.data import planted

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


def test_the_rules_are_those_of_one_user() -> None:
    allowed = [1000, 1001, 1002]
    lists = _shop().recommend([1, 2], allow=allowed, deny=[1001], seen=True)
    assert all(set(one.ids()) <= {1000, 1002} for one in lists)


def test_the_frame_has_a_row_for_each_item() -> None:
    frame = _shop().recommend([1, 2], k=3).to_frame()
    assert frame.columns == ["user", "rank", "item", "score"]
    assert frame["user"].to_list() == [1, 1, 1, 2, 2, 2]
    assert frame["rank"].to_list() == [1, 2, 3, 1, 2, 3]
    assert (
        frame["item"].to_list() == _shop().recommend(1, k=3).ids() + _shop().recommend(2, k=3).ids()
    )


def test_names_and_distances_are_columns_where_there_are_any() -> None:
    best = Recommendations("ann", (Recommended("tea", "Green tea", 0.75, 4),))
    frame = RecommendationLists([best]).to_frame()
    assert frame.rows() == [("ann", 1, "tea", "Green tea", 0.75, 4)]
    assert frame.columns == ["user", "rank", "item", "name", "score", "distance"]


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
        (
            ["Ann", "Bob"],
            "ann",
            "user 'ann' is not in the model: did you mean 'Ann'? For a",
        ),
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
