from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.core.errors import DataError
from xorec.data.io.columns import choose_columns
from xorec.data.io.read import read


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
