"""Users and items by letters over HTTP: what people type, and what came since the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support.service_in_process import Served, served
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.service.http.exchange import Request

PAIRS = [
    *(("ann", item) for item in ("t1", "t2", "t3", "t4")),
    *(("anna", item) for item in ("t1", "t2", "t3")),
    *(("Hannah", item) for item in ("t1", "t2")),
    ("bob", "t1"),
    ("jo-ann", "t5"),
]
NAMES = {
    "t1": "Crème brûlée",
    "t2": "Steam iron",
    "t3": "Green tea",
    "t4": "Teapot",
    "t5": "TEA",
}


def named_shop() -> Recommender:
    data = xorec.read(PAIRS)
    shop = Recommender.from_model(xorec.Popularity().fit(data), data)
    return replace(shop, names=Text.pack([NAMES[item] for item in shop.item_ids]))


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(named_shop(), tmp_path) as ask:
        yield ask


def items(ask: Served, q: str, **query: Any) -> list[Any]:
    return [one["id"] for one in ask.get("items", q=q, **query)["items"]]


def users(ask: Served, q: str, **query: Any) -> list[Any]:
    return [one["id"] for one in ask.get("users", q=q, **query)["users"]]


def test_what_begins_then_words_then_inside_and_the_popular_first(ask: Served) -> None:
    assert set(items(ask, "tea")[:2]) == {"t4", "t5"}  # begin
    assert items(ask, "tea")[2:] == ["t3", "t2"]  # a word; inside a word
    assert items(ask, "tea", k=3) == items(ask, "tea")[:3]
    assert items(ask, "t") == items(ask, "") == items(ask, "  ")
    assert items(ask, "t")[:3] == ["t1", "t2", "t3"]
    assert items(ask, "t4")[0] == "t4"
    assert items(ask, "CREME BRULEE") == items(ask, "crème") == items(ask, "rûle") == ["t1"]
    assert items(ask, " green  ".strip()) == items(ask, " Green ") == ["t3"]
    assert items(ask, "nowhere") == []
    assert ask.get("items", q="green")["items"][0]["rank"] == 3


def test_who_has_most_items_first(ask: Served) -> None:
    assert users(ask, "ann") == ["ann", "anna", "jo-ann", "Hannah"]
    assert users(ask, "anna") == ["anna", "Hannah"]
    assert users(ask, "HAN") == ["Hannah"]
    assert users(ask, "") == ["ann", "anna", "Hannah", *users(ask, "")[3:]]


def test_what_came_since_is_found_and_what_went_is_not(ask: Served) -> None:
    assert users(ask, "zed") == items(ask, "rum") == []
    ask.post("events", {"user": "zed", "item": "rum 7"})
    assert users(ask, "Z") == ["zed"]
    assert items(ask, "RUM") == ["rum 7"]
    ask.put("items", {"id": "rum 7", "name": "Añejo"})
    assert items(ask, "anejo") == items(ask, "rum") == ["rum 7"]
    ask.patch("items", {"id": "t3", "name": "Sencha"})
    assert items(ask, "sench") == ["t3"]
    assert items(ask, "green") == []  # it is not called so any more
    ask.delete("items", item="t4")
    ask.delete("items", item="rum 7")
    assert items(ask, "teapot") == items(ask, "t4") == items(ask, "anejo") == []
    ask.put("items", {"id": "t4"})
    assert items(ask, "teapot") == ["t4"]  # as the model has it
    for user in ("ann", "zed"):
        ask.delete("events", user=user)
    assert users(ask, "ann") == ["anna", "jo-ann", "Hannah"]
    assert users(ask, "zed") == []
    ask.post("events", {"user": "ann", "item": "t1"})
    assert users(ask, "ann")[0] == "ann"
    assert ask.get("users", q="ann")["users"][0]["count"] == 1


@pytest.mark.process
def test_a_new_generation_is_searched_at_once_and_the_old_one_keeps_nothing(ask: Served) -> None:
    before = ask.service.models.default
    assert items(ask, "tea")
    assert list(before.search_boxes) == ["item"]
    ask.post("events", {"user": "zed", "item": "rum"})
    ask.put("items", {"id": "rum", "name": "Old tea"})
    ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
    after = ask.service.models.default
    assert after is not before
    assert list(after.search_boxes) == ["item"]
    assert before.search_boxes == {}
    assert items(ask, "old") == ["rum"]
    assert users(ask, "zed") == ["zed"]


@pytest.mark.parametrize("q", ["\0", "\U0001f375", "a\u0301" * 100, "\u202e", "%00", "x" * 256])
def test_hostile_letters_find_nothing(ask: Served, q: str) -> None:
    assert items(ask, q) == users(ask, q) == []
    assert ask.status == 200
    ask.put("items", {"id": f"<{q}>", "name": q})
    assert items(ask, f"<{q}>"[:256]) == [f"<{q}>"]


def test_what_is_no_text_or_too_long_is_refused(ask: Served) -> None:
    import asyncio

    ask.get("items", q="x" * 257)
    assert ask.status == 422
    request = Request("GET", "/v1/items", "q=%ED%A0%80", {}, "test")
    assert asyncio.run(ask.app.reply(request, b"")).status == 400


def test_what_may_have_been_meant(ask: Served) -> None:
    def meant(what: str, q: str) -> list[Any]:
        answer = ask.get(what, q=q)
        assert answer[what] == [] or answer["meant"] == []
        return [one["id"] for one in answer["meant"]]

    assert meant("items", "teapto") == ["t4"]
    assert meant("items", "Créme brulöe") == []  # two words: both have to be there
    assert meant("items", "brulee CREME") == ["t1"]
    assert meant("items", "iron green") == []
    assert meant("items", "brulefe") == ["t1"]  # one word of a name
    assert meant("users", "hanahn") == ["Hannah"]
    assert meant("users", "zzzzzz") == meant("users", "z") == meant("users", "") == []
    assert meant("items", "tea") == []
    ask.put("items", {"id": "n1", "name": "Samovar"})
    assert meant("items", "samvoar") == ["n1"]
