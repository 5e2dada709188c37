from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.core.errors import DataError
from xorec.data.io.columns import choose_columns
from xorec.data.io.read import read


@pytest.mark.parametrize(
    ("header", "user", "item", "more"),
    [
        ("User_ID Anime_ID Feedback", "User_ID", "Anime_ID", {"rating": "Feedback"}),
        ("User_ID Game_ID Hours", "User_ID", "Game_ID", {"weight": "Hours"}),
        ("uid sid playcount", "uid", "sid", {"weight": "playcount"}),
        ("customer_id product quantity", "customer_id", "product", {"weight": "quantity"}),
        (
            "customer_id product_sku qty ordered_at",
            "customer_id",
            "product_sku",
            {"weight": "qty", "time": "ordered_at"},
        ),
        ("timestamp visitorid event itemid", "visitorid", "itemid", {"time": "timestamp"}),
        ("userId:token beerId:token", "userId:token", "beerId:token", {}),
        (
            "user_id beerId:token rating:float",
            "user_id",
            "beerId:token",
            {"rating": "rating:float"},
        ),
        ("order_id user_id wine_id", "user_id", "wine_id", {}),
        ("session_id user_id hotelId paid", "user_id", "hotelId", {}),
        ("cust_id movie_id", "cust_id", "movie_id", {}),
        ("cust_id movie_id paid", "cust_id", "movie_id", {}),
        ("user item count", "user", "item", {"weight": "count"}),
        ("user item rating count", "user", "item", {"rating": "rating"}),
        ("user count", "user", "count", {}),
        ("customer_no article_nr qty", "customer_no", "article_nr", {"weight": "qty"}),
        ("order_no ClientNumber sku_no", "ClientNumber", "sku_no", {}),
        ("customer customer_no product", "customer", "product", {}),
        ("user item bought_at delivered_at", "user", "item", {"time": "bought_at"}),
    ],
)
def test_columns_are_guessed(header: str, user: str, item: str, more: dict[str, str]) -> None:
    columns = choose_columns(header.split(), {}, "x.csv", ())
    assert columns.in_use() == {"user": user, "item": item, **more}
    assert columns.notes[0].startswith(f"columns guessed: user = {user}, item = {item}")


def test_what_is_not_used_is_said_once() -> None:
    columns = choose_columns(["user", "item", "colour", "size"], {}, "x.csv", ())
    assert columns.notes == ("columns guessed: user = user, item = item; not used: colour, size",)
    named = {"user": "user", "item": "item"}
    assert choose_columns(["user", "item"], named, "x.csv", ()).notes == ()


def test_several_candidates_are_refused_by_name() -> None:
    with pytest.raises(DataError, match=r"holds the items.*perhaps hotel_id or city_id; there are"):
        choose_columns(["user_id", "hotel_id", "city_id"], {}, "x.csv", ())


def test_no_candidate_is_refused() -> None:
    with pytest.raises(DataError, match=r"holds the items\? .*--item-column\); there are: user, "):
        choose_columns(["user", "paid", "colour"], {}, "x.csv", ())


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
