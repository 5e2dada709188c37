"""The map over HTTP: bytes and JSON say the same, colours mean what they say, nothing hides."""

from __future__ import annotations

import base64
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from tests.support.page_shop import GROUPS, HARM_CATEGORY, shop_data, shop_recommender
from tests.support.service_in_process import Served, served
from tests.support.waiting import PATIENCE
from xorec.recommender.item_map import principal_places, with_map
from xorec.recommender.recommender import Recommender
from xorec.service.live import model as item_map

USER = shop_data().users[20]


def _shop() -> Recommender:
    return shop_recommender("dsiml")


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(
        _shop(), tmp_path, more={"slim": shop_recommender("slim")}, update={"events": 10**9}
    ) as made:
        yield made


def colours(ask: Served, **query: Any) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """The bytes, and the whole answer; each band's count is that of its bytes."""
    answer = ask.get("map/colours", **query)
    assert ask.status == 200, answer
    found = np.frombuffer(base64.b64decode(answer["colours"]), dtype=np.uint8)
    for band in answer["legend"]:
        inside = (found >= band["first"]) & (found <= band["last"])
        assert inside.sum() == band["count"] > 0, band
    assert sum(band["count"] for band in answer["legend"]) == (found != 255).sum()
    return found, answer


def check_distances(found: np.ndarray[Any, Any], items: list[Any]) -> None:
    """The bytes of these items are their distances."""
    rows = _shop().item_ids.find_many([one["id"] for one in items])
    assert found[rows].tolist() == [one["distance"] for one in items]


def test_bytes_and_json_are_the_same_places(ask: Served) -> None:
    raw = ask.get("map", format="binary")
    answer = ask.get("map")
    pairs = list(struct.iter_unpack("<hh", raw))
    assert len(pairs) == len(_shop().item_ids)
    assert answer["layout"] == "pca"
    rows = _shop().item_ids.find_many(answer["items"])
    assert sorted(rows) == list(range(len(pairs)))
    assert [pairs[row] for row in rows] == list(zip(answer["x"], answer["y"], strict=True))
    assert answer["count"] == sorted(answer["count"], reverse=True)
    assert max(map(abs, answer["x"] + answer["y"])) == 32767


def test_accept_asks_for_bytes_too(ask: Served) -> None:
    import asyncio

    from xorec.service.http.exchange import Request

    request = Request("GET", "/v1/map", "", {"accept": "application/octet-stream"}, "test")
    reply = asyncio.run(ask.app.reply(request, b""))
    assert reply.media_type == "application/octet-stream"
    assert reply.body == ask.get("map", format="binary")
    assert dict(reply.headers)["x-xorec-generation"] == "1"


def test_the_places_of_the_file_are_served(tmp_path: Path) -> None:
    made, _ = with_map(_shop())
    assert made.map_xy is not None
    with served(made, tmp_path) as ask:
        assert ask.get("map", format="binary") == made.map_xy.astype("<i2").tobytes()
        assert ask.get("map")["layout"] == "neighbours"


@pytest.mark.parametrize(
    "model",
    [
        xorec.Popularity(),
        xorec.ItemKNN(),
        xorec.EASE(),
        xorec.SLIM(),
        xorec.BPR(epochs=1),
        xorec.CML(epochs=1),
        xorec.LightRec(epochs=1),
    ],
    ids=lambda one: one.name,
)
def test_every_model_has_a_map(model: Any) -> None:
    data = shop_data()
    made = Recommender.from_model(model.fit(data), data)
    places = principal_places(made)
    assert places.shape == (data.n_items, 2)
    assert np.abs(places).max() == 32767
    assert len(np.unique(places, axis=0)) > data.n_items // 2
    np.testing.assert_array_equal(places, principal_places(made))


def test_a_map_that_takes_long_is_made_in_the_background(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, asked = threading.Event(), []

    def slow(recommender: Recommender) -> Any:
        asked.append(recommender)
        assert go_on.wait(PATIENCE)
        return principal_places(recommender)

    monkeypatch.setattr(item_map, "principal_places", slow)
    monkeypatch.setattr(item_map.ItemMap.places, "__defaults__", (0.05,))
    for _ in range(2):
        answer = ask.get("map")
        assert ask.status == 503
        assert "being made" in answer["detail"]
    go_on.set()
    live = ask.service.models.default
    assert live.item_map.places(PATIENCE).shape == (len(_shop().item_ids), 2)
    assert len(ask.get("map")["items"]) == len(_shop().item_ids)
    assert len(asked) == 1


def test_popularity_counts_users_and_events(ask: Served) -> None:
    before, answer = colours(ask, by="popularity")
    counts = _shop().item_counts
    order = np.argsort(counts, kind="stable")
    assert (np.diff(before[order].astype(int)) >= 0).all()
    assert answer["shown"] == "high"
    for band in answer["legend"]:
        low, high = (int(word.replace(",", "")) for word in band["label"].split(" ")[0:3:2])
        inside = (before >= band["first"]) & (before <= band["last"])
        np.testing.assert_array_equal(inside, (counts >= low) & (counts <= high))
    row = int(np.argmin(counts))
    item = _shop().item_ids[row]
    ask.post("events", {"events": [{"user": f"new {n}", "item": item} for n in range(300)]})
    live = ask.service.models.default
    live._counted = (live._counted[0] - 2, live._counted[1])  # they are counted once a second
    after, _ = colours(ask, by="popularity")
    assert after[row] > before[row]


def test_an_item_nobody_has_is_told_apart(tmp_path: Path) -> None:
    lonely = replace(
        _shop(), item_counts=np.where(np.arange(len(_shop().item_ids)) == 7, 0, _shop().item_counts)
    )
    with served(lonely, tmp_path) as ask:
        found, answer = colours(ask, by="popularity")
    assert np.flatnonzero(found == 0).tolist() == [7]
    assert answer["legend"][0] == {"label": "nobody", "first": 0, "last": 0, "count": 1}


def test_categories_by_number_the_smallest_that_an_item_has(ask: Served) -> None:
    found, answer = colours(ask, by="category")
    names = [band["label"] for band in answer["legend"]]
    sizes = {one["name"]: one["count"] for one in ask.get("categories")["categories"]}
    assert set(names) == {*GROUPS, HARM_CATEGORY}
    assert [sizes[name] for name in names] == sorted(sizes.values(), reverse=True)
    harm = next(band for band in answer["legend"] if band["label"] == HARM_CATEGORY)
    assert harm["count"] == sizes[HARM_CATEGORY]
    assert (found[:12] == harm["first"]).all()
    _few, answer = colours(ask, by="category", most=2)
    assert [band["first"] for band in answer["legend"]] == [0, 1, 2]
    assert answer["legend"][-1]["label"] == "other categories"
    item = _shop().item_ids[50]
    ask.patch("items", {"id": item, "categories": []})
    after, answer = colours(ask, by="category", most=2)
    assert answer["legend"][-1]["label"] == "no category"
    assert np.flatnonzero(after == answer["legend"][-1]["first"]).tolist() == [50]


def test_one_bit_of_the_codes(ask: Served) -> None:
    hexes = ask.get("codes", of=[_shop().item_ids[row] for row in range(30)])["items"]
    for bit in (0, 13, 63):
        found, answer = colours(ask, by="bit", bit=bit)
        expected = [bytes.fromhex(one["code"])[bit // 8] >> bit % 8 & 1 for one in hexes]
        assert found[:30].tolist() == expected
        assert answer["shown"] == ""
    assert "0 to 63" in ask.get("map/colours", by="bit", bit=64)["detail"]
    assert ask.status == 422


def test_distance_from_a_user_as_of_now(ask: Served) -> None:
    before, answer = colours(ask, by="distance", user=USER)
    assert answer["shown"] == "low"
    check_distances(before, ask.get("recommend", user=USER, k=30, seen=True)["items"])
    ask.post(
        "events", {"events": [{"user": USER, "item": _shop().item_ids[row]} for row in range(40)]}
    )
    after, _ = colours(ask, by="distance", user=USER)
    check_distances(after, ask.get("recommend", user=USER, k=30, seen=True)["items"])
    assert (before != after).any()


def test_distance_from_an_item_and_from_nobody(ask: Served) -> None:
    found, _ = colours(ask, by="distance", item=_shop().item_ids[3])
    assert found[3] == 0
    check_distances(found, ask.get("similar", item=_shop().item_ids[3], k=5)["items"])
    for query in ({}, {"user": USER, "item": _shop().item_ids[3]}):
        ask.get("map/colours", by="distance", **query)
        assert ask.status == 422
    ask.get("map/colours", by="distance", user="nobody at all")
    assert ask.status == 404
    ask.get("map/colours", by="distance", items=["nothing at all"])
    assert ask.status == 404


def test_distance_as_if_they_had_more(ask: Served) -> None:
    more = [_shop().item_ids[3], _shop().item_ids[8]]
    for who in ({"user": USER}, {}):
        found, _ = colours(ask, by="distance", items=more, **who)
        check_distances(found, ask.get("recommend", items=more, k=24, seen=True, **who)["items"])
    own, _ = colours(ask, by="distance", user=USER)
    assert own.tolist() != colours(ask, by="distance", items=more, user=USER)[0].tolist()


def test_without_codes_the_order_of_all_items_is_shown(ask: Served) -> None:
    found, answer = colours(ask, by="distance", user=USER, model="slim")
    best = ask.get("recommend", user=USER, k=24, seen=True, model="slim")["items"]
    rows = shop_recommender("slim").item_ids.find_many([one["id"] for one in best])
    tenth = next(band for band in answer["legend"] if band["label"] == "up to 10 %")
    assert (found[rows] <= tenth["last"]).all()
    assert (np.diff(found[rows].astype(int)) >= 0).all()
    ask.get("map/colours", by="bit", model="slim")
    assert ask.status == 422


def test_hidden_items_are_marked_and_left_out(ask: Served) -> None:
    ask.patch("items", {"id": _shop().item_ids[9], "hidden": True})
    for query in ({"by": "popularity"}, {"by": "category"}, {"by": "bit"}):
        found, _ = colours(ask, **query)
        assert np.flatnonzero(found == 255).tolist() == [9]
    assert _shop().item_ids[9] not in ask.get("map")["items"]
    assert len(ask.get("map", format="binary")) == 4 * len(_shop().item_ids)
    (one,) = ask.get("map/items", rows=9)["items"]
    assert one["available"] is False


def test_rows_to_items_and_back(ask: Served) -> None:
    rows = [5, 200, 5, 0]
    found = ask.get("map/items", rows=rows)["items"]
    assert [one["row"] for one in found] == rows
    assert [one["id"] for one in found] == _shop().item_ids.take(rows)
    assert [one["count"] for one in found] == _shop().item_counts[rows].tolist()
    names = _shop().names
    assert names is not None
    assert [one["name"] for one in found] == names.strings(rows)
    back = ask.get("map/items", items=[*(one["id"] for one in found[:2]), "not there"])["items"]
    assert [one["row"] for one in back] == rows[:2]
    for wrong in (-1, len(_shop().item_ids)):
        ask.get("map/items", rows=wrong)
        assert ask.status == 422
    ask.get("map/items", rows=[0] * 2001)
    assert ask.status == 422


def test_what_a_user_has_with_events(ask: Served) -> None:
    have = _shop().items_of(_shop().user_row(USER)).tolist()
    assert [one["row"] for one in ask.get("map/items", user=USER)["items"]] == have
    fresh = next(row for row in range(len(_shop().item_ids)) if row not in have)
    ask.post("events", {"user": USER, "item": _shop().item_ids[fresh]})
    found = ask.get("map/items", user=USER)["items"]
    assert {one["row"] for one in found} == {*have, fresh}
    ask.get("map/items", user="nobody at all")
    assert ask.status == 404
