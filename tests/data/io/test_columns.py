"""Columns by name and by guess; what reads data by itself takes the options of `read`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xorec
from xorec.core.errors import DataError, OptionError
from xorec.data.io.columns import choose_columns
from xorec.data.io.read import ReadOptions, read


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("User_ID Anime_ID Feedback", "user item rating"),
        ("User_ID Game_ID Hours", "user item weight"),
        ("uid sid playcount", "user item weight"),
        ("customer_id product quantity", "user item weight"),
        ("customer_id product_sku qty ordered_at", "user item weight time"),
        ("timestamp visitorid event itemid", "time user - item"),
        ("userId:token beerId:token", "user item"),
        ("user_id beerId:token rating:float", "user item rating"),
        ("order_id user_id wine_id", "- user item"),
        ("session_id user_id hotelId paid", "- user item -"),
        ("cust_id movie_id", "user item"),
        ("cust_id movie_id paid", "user item -"),
        ("user item count", "user item weight"),
        ("user item rating count", "user item rating -"),
        ("user count", "user item"),
        ("customer_no article_nr qty", "user item weight"),
        ("order_no ClientNumber sku_no", "- user item"),
        ("customer customer_no product", "user - item"),
        ("user item bought_at delivered_at", "user item time -"),
    ],
)
def test_columns_are_guessed(header: str, roles: str) -> None:
    names = dict(zip(roles.split(), header.split(), strict=True))
    names.pop("-", None)
    columns = choose_columns(header.split(), {}, "x.csv", ())
    assert columns.in_use() == names
    guessed = f"columns guessed: user = {names['user']}, item = {names['item']}"
    assert columns.notes[0].startswith(guessed)


def test_what_is_not_used_is_said_once() -> None:
    columns = choose_columns(["user", "item", "colour", "size"], {}, "x.csv", ())
    assert columns.notes == ("columns guessed: user = user, item = item; not used: colour, size",)
    named = {"user": "user", "item": "item"}
    assert choose_columns(["user", "item"], named, "x.csv", ()).notes == ()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("user_id hotel_id city_id", r"holds the items.*perhaps hotel_id or city_id; there are"),
        ("user paid colour", r"holds the items\? .*--item-column\); there are: user, "),
    ],
)
def test_several_candidates_or_none_are_refused(header: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        choose_columns(header.split(), {}, "x.csv", ())


def _table(tmp_path: Path, header: str, *rows: str) -> Path:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([header, *rows]))
    return path


def test_times_that_are_no_dates_are_said(tmp_path: Path) -> None:
    path = _table(tmp_path, "user;item;qty", "a;x;1", "b;x;5", "b;y;3")
    data: Any = read(path, time_column="qty")
    assert data.times.tolist() == [1, 5, 3]
    assert "the times of 'qty' go from 1 to 5: no dates, but" in data.notes[-1]
    known = _table(tmp_path, "user;item;time", "a;x;1", "b;x;5")
    assert read(known).notes == ("columns guessed: user = user, item = item, time = time",)
    dated = _table(tmp_path, "user;item;qty", "a;x;5", "b;x;1700000000")
    assert "no dates" not in str(read(dated, time_column="qty").notes)


PAIRS = [(user, item) for user in range(30) for item in range(user % 4, 20, 4)]
READERS: dict[str, Callable[..., Any]] = {
    "fit": lambda data, **reading: len(xorec.fit(data, trials=1, **reading).user_ids),
    "split": lambda data, **reading: xorec.split(data, **reading).train.n_users,
    "folds": lambda data, **reading: next(xorec.folds(data, 2, **reading)).train.n_users,
    "prepare": lambda data, **reading: xorec.prepare(data, **reading).n_users,
    "tune": lambda data, **reading: len(
        xorec.tune("item-knn", data, trials=1, **reading).trials * 30
    ),
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file whose columns cannot be guessed."""
    lines = [f"{place};{user};{item}" for place, (user, item) in enumerate(PAIRS)]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["row;who;what", *lines]))
    return path


def test_the_docstring_of_read_says_what_each_is() -> None:
    assert all(name in str(xorec.read.__doc__) for name in ReadOptions.__annotations__)


@pytest.mark.parametrize("name", READERS)
def test_columns_reach_what_reads(name: str, shop: Path) -> None:
    with pytest.raises(DataError, match="which column holds the users"):
        READERS[name](shop)
    assert READERS[name](shop, user_column="who", item_column="what") == 30


@pytest.mark.parametrize("name", READERS)
def test_nothing_is_said_of_how_to_read_what_is_read(name: str) -> None:
    with pytest.raises(OptionError, match="Interactions, read already: leave user_column out"):
        READERS[name](xorec.read(PAIRS), user_column="who")


@pytest.mark.parametrize("name", READERS)
def test_a_name_that_read_does_not_have(name: str) -> None:
    with pytest.raises(OptionError, match=r"no option 'usr_column'.*Did you mean 'user_column'"):
        READERS[name](PAIRS, usr_column="who")


def test_a_split_is_read_already() -> None:
    with pytest.raises(OptionError, match="this is a split, read already: leave time_column out"):
        xorec.tune("item-knn", xorec.split(PAIRS, validation=0.1), time_column="when")


def test_a_named_data_set_knows_its_columns() -> None:
    with pytest.raises(OptionError, match="debian is a named data set and knows its columns"):
        xorec.split("debian", user_column="who")
