"""Items: hidden, dated, in categories; cold ones; what is found by letters."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.planted_shop import DATA, USER, item_knn
from tests.support.service_in_process import Served, served
from xorec.testing.examples import shop, shop_with_categories


def _in(hours: float) -> str:
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)).isoformat()


def test_hidden_expired_and_future_items_are_in_no_list(tmp_path: Path) -> None:
    with served(item_knn(), tmp_path) as ask:
        best = ask.ids(USER, 6)
        ask.put(
            "items", {"items": [{"id": best[0], "hidden": True}, {"id": best[1], "until": _in(-1)}]}
        )
        ask.put("items", {"id": best[2], "from": _in(1)})
        ask.put("items", {"id": best[3], "from": _in(-1), "until": _in(1)})
        assert ask.ids(USER, 3) == best[3:6]
        assert best[0] not in ask.ids(10**8, 50)
        assert best[0] not in {one["id"] for one in ask.get("similar", item=best[3], k=40)["items"]}
        assert best[0] not in {one["id"] for one in ask.get("popular", k=50)["items"]}
        item = ask.get("items", item=best[0])["items"][0]
        assert (item["hidden"], item["available"]) == (True, False)
        ask.patch("items", {"id": best[0], "hidden": False})
        assert ask.ids(USER, 2) == [best[0], best[3]]
        ask.delete("items", item=best[0])
        assert ask.ids(USER, 1) == [best[3]]
    with served(item_knn(), tmp_path) as ask:  # and after a restart
        assert ask.ids(USER, 1) == [best[3]]


def test_an_item_appears_when_its_time_comes(ask: Served) -> None:
    live, now = ask.service.models.default, 10**15
    best = ask.ids(USER, 1)[0]
    row = live.item_row(best)
    body = {"id": best, "from_": now, "until": now + 10, "since": 1}
    ask.service.require_writer().change("item", body).result()
    shown = [bool(live.filters.mask(now=at)[row]) for at in (now - 1, now, now + 9, now + 10)]
    assert shown == [False, True, True, False]
    rows = [live.filters.prepared(None, None, at) is None for at in (now, now - 1, now + 10)]
    assert rows == [True, False, False]


def test_where_by_category_and_attribute(tmp_path: Path) -> None:
    with served(shop_with_categories(), tmp_path) as ask:

        def found(**where: object) -> list[str]:
            body = {"user": "cem", "seen": True, "where": where}
            return sorted(one["id"] for one in ask.post("recommend", body)["items"])

        assert found(any=["drinks"]) == ["milk", "tea"]
        assert found(all=["drinks", "white"]) == ["milk"]
        assert found(none=["drinks"]) == ["rice"]
        ask.put("items", {"id": "rice", "categories": ["drinks"], "attributes": {"organic": True}})
        assert found(any=["drinks"]) == ["milk", "rice", "tea"]
        assert found(any=["white"]) == ["milk"]
        assert found(attributes={"organic": True}) == ["rice"]
        assert found(attributes={"organic": 1}) == []
        assert ask.get("recommend", user="cem", category="drinks")["items"][0]["id"] == "milk"
        assert (
            "did you mean" in ask.get("recommend", user="cem", category="drink")["detail"].lower()
        )
        assert ask.status == 422


@pytest.mark.process
def test_a_cold_item_is_latest_at_once_and_in_lists_after_an_update(ask: Served) -> None:
    group = [user for user in DATA.users if 3 in item_knn().items_of(item_knn().user_row(user))]
    events = [{"user": user, "item": 12345} for user in group]
    ask.post("events", {"events": events})
    ask.put("items", {"id": 12345, "name": "Brand new"})
    newest = ask.get("latest", k=1)["items"][0]
    assert (newest["id"], newest["name"]) == (12345, "Brand new")
    assert ask.get("trending", k=1)["items"][0]["id"] == 12345
    assert ask.get("items", item=12345)["items"][0]["known"] is False
    done = ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
    assert done.result["generation"] == 2
    assert ask.get("items", item=12345)["items"][0]["known"] is True
    other = DATA.items[3]
    found = [one["id"] for one in ask.post("recommend", {"items": [other], "k": 5})["items"]]
    assert 12345 in found
    names = [one["name"] for one in ask.get("similar", item=other, k=5)["items"]]
    assert "Brand new" in names


def test_a_cold_item_is_not_shown_to_who_took_it(ask: Served) -> None:
    ask.post("events", {"user": USER, "item": 12345})
    for path in ("latest", "trending"):
        assert ask.get(path, k=1)["items"][0]["id"] == 12345
        own = ask.get(path, k=50, user=USER)["items"]
        assert 12345 not in {one["id"] for one in own}


def test_the_history_of_a_user(ask: Served) -> None:
    rows = item_knn().items_of(item_knn().user_row(USER))
    assert ask.get("users", user=USER)["users"][0]["history"] == item_knn().item_ids.take(rows)


def test_patch_of_an_unknown_item_is_404_and_a_bad_id_has_its_place(ask: Served) -> None:
    ask.patch("items", {"id": 10**9, "hidden": True})
    assert ask.status == 404
    answer = ask.put("items", {"items": [{"id": 1}, {"id": "two"}]})
    assert (ask.status, answer["at"]) == (422, 1)


def test_popular_counts_events_and_leaves_out_what_it_must(ask: Served) -> None:
    order = sorted(range(50), key=lambda row: item_knn().tie_rank[row])
    best = item_knn().item_ids.take(order)
    rare = best[-1]
    most = int(item_knn().item_counts.max())
    ask.post("events", {"events": [{"user": 10**6 + n, "item": rare} for n in range(most + 1)]})
    found = ask.get("popular", k=3)["items"]
    assert [one["id"] for one in found] == [rare, *best[:2]]
    assert found[0]["score"] == item_knn().item_counts[order[-1]] + most + 1
    assert [one["id"] for one in ask.get("popular", k=2, deny=[rare])["items"]] == best[:2]
    own = set(item_knn().item_ids.take(item_knn().items_of(item_knn().user_row(USER))))
    listed = [one["id"] for one in ask.get("popular", k=50, user=USER)["items"]]
    assert listed == [item for item in [rare, *best[:-1]] if item not in own]
    assert ask.get("recommend", user=10**8, k=2)["items"][0]["id"] == rare


def test_several_items_by_id_in_the_order_asked_for(ask: Served) -> None:
    wanted = DATA.items.take([7, 2, 7, 30])
    found = ask.get("items", item=wanted)["items"]
    assert [one["id"] for one in found] == wanted
    assert found == [ask.get("items", item=one)["items"][0] for one in wanted]
    assert "item 1000000000 is not in" in ask.get("items", item=[wanted[0], 10**9])["detail"]
    assert ask.status == 404


def counts(ask: Served, **query: Any) -> list[tuple[str, int]]:
    return [(one["name"], one["count"]) for one in ask.get("categories", **query)["categories"]]


def test_counts_follow_what_is_said_of_items(tmp_path: Path) -> None:
    with served(shop_with_categories(), tmp_path) as ask:
        assert counts(ask) == [("drinks", 2), ("white", 2)]  # equal counts: by name
        ask.put("items", {"id": "rice", "categories": ["food", "food", "white"]})
        ask.put("items", {"id": "rum", "categories": ["drinks"]})  # no model has it
        assert counts(ask) == [("drinks", 3), ("white", 2), ("food", 1)]
        assert counts(ask, k=1) == [("drinks", 3)]
        ask.patch("items", {"id": "tea", "hidden": True})  # says nothing of categories
        assert counts(ask, k=1) == [("drinks", 3)]
        ask.delete("items", item="milk")
        assert counts(ask) == [("drinks", 2), ("food", 1), ("white", 1)]
        ask.patch("items", {"id": "tea", "categories": []})
        ask.delete("items", item="rum")
        assert counts(ask) == [("food", 1), ("white", 1)]


def test_without_categories_there_are_none(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        assert counts(ask) == []
        ask.put("items", {"id": "tea", "categories": ["drinks"]})
        assert counts(ask) == [("drinks", 1)]


def test_rank_is_the_place_by_popularity(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        ranks = {item: ask.get("items", item=item)["items"][0]["rank"] for item in shop().item_ids}
        popular = [one["id"] for one in ask.get("popular", k=3)["items"]]
        assert sorted(ranks, key=lambda item: ranks[item]) == popular
        assert sorted(ranks.values()) == [1, 2, 3]
        ask.put("items", {"id": "rum"})
        assert ask.get("items", item="rum")["items"][0]["rank"] is None
