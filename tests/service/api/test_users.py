"""Users over HTTP: who has an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xorec
from tests.support.planted_shop import DATA, item_knn
from tests.support.service_in_process import Served, served
from xorec.recommender.recommender import Recommender


def who(ask: Served, item: Any, k: int = 100) -> list[Any]:
    return [one["id"] for one in ask.get("users", item=item, k=k)["users"]]


def owners(row: int) -> list[Any]:
    return [user for user in DATA.users if row in item_knn().items_of(item_knn().user_row(user))]


def test_who_has_an_item_with_events_and_without_the_erased(ask: Served) -> None:
    row = int(item_knn().item_counts.argmax())
    item, base = DATA.items[row], owners(row)
    assert sorted(who(ask, item)) == base
    assert who(ask, item, 3) == who(ask, item)[:3]
    others = [user for user in DATA.users if user not in base]
    for user in (others[0], 10**6, base[0]):
        ask.post("events", {"user": user, "item": item})
    ask.post("events", {"user": others[1], "item": item, "value": 0})
    found = who(ask, item)
    assert found[:3] == [base[0], 10**6, others[0]]
    assert sorted(found[3:]) == base[1:]
    ask.delete("events", user=base[1])
    ask.delete("events", user=10**6)
    assert sorted(who(ask, item)) == sorted([others[0], base[0], *base[2:]])
    assert len(who(ask, item, len(base))) == len(base)


def test_who_has_most_items_comes_first(tmp_path: Path) -> None:
    pairs = [("ann", "tea"), ("bob", "tea"), ("bob", "jam"), ("cem", "tea"), ("cem", "jam")]
    data = xorec.read([*pairs, ("cem", "rice"), ("dia", "rice")])
    shop = Recommender.from_model(xorec.Popularity().fit(data), data)
    with served(shop, tmp_path) as ask:
        assert who(ask, "tea") == ["cem", "bob", "ann"]
        assert who(ask, "tea", 2) == ["cem", "bob"]
        assert [one["count"] for one in ask.get("users", item="tea")["users"]] == [3, 2, 1]


def test_an_item_that_nobody_has_and_one_that_nobody_knows(ask: Served) -> None:
    ask.put("items", {"id": 77, "name": "new"})
    assert who(ask, 77) == []
    assert ask.get("users", item=78)["status"] == 404
    assert "item=ID" in ask.get("users")["detail"]
