"""Events: all or nothing, erasure, and what the log says afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.planted_shop import DATA, USER, item_knn
from tests.support.service_in_process import Served, served
from xorec.recommender.recommender import Recommender


def test_all_or_nothing_with_the_place_of_the_first_bad_one(
    tmp_path: Path, kept: dict[str, Any]
) -> None:
    with served(item_knn(), tmp_path, **kept) as ask:
        good = {"user": USER, "item": 1}
        for bad in ({"user": "x", "item": 1}, {"user": 1}, {"user": 1, "item": 2, "kind": ""}, 7):
            answer = ask.post("events", {"events": [good, good, bad, good]})
            assert (ask.status, answer["at"]) == (422, 2), answer
        assert ask.get("events")["events"] == []
        lines = b'{"user": 1, "item": 2}\n\n{"user": 1, "item": 3}\n'
        assert ask.post("events", lines)["accepted"] == 2
        assert ask.post("events", b'{"user": 1, "item": 2}\n{"user":')["at"] == 1
        ask.post("events", {"events": []})
        assert ask.status == 422


@pytest.mark.parametrize(
    "other",
    [
        {"user": 2},
        {"item": 2},
        {"kind": "view"},
        {"value": -1.0},
        {"ts": "2026-11-16T12:00:01Z"},
        {"request_id": "r2"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_differs_in_one_field_is_another_event(other: dict[str, Any], ask: Served) -> None:
    """Without an event_id: what is the same in all fields is one, sent twice."""
    event = {"user": 1, "item": 1, "kind": "click", "value": 1.0, "request_id": "r1"}
    event |= {"ts": "2026-11-16T12:00:00Z"}
    done = ask.post("events", {"events": [event, event | other, event]})
    assert (done["accepted"], done["duplicates"]) == (2, 1)


FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"


def test_what_is_taken_can_be_read_back_after_a_restart(tmp_path: Path) -> None:
    """Times at the ends of what can be written; those beyond are refused."""
    beyond = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")
    with served(item_knn(), tmp_path) as ask:
        assert ask.post("events", {"user": USER, "item": 1, "ts": FIRST})["accepted"] == 1
        for ts in (LAST, *beyond):  # the first of them is more than a year ahead
            ask.post("events", {"user": USER, "item": 1, "ts": ts})
            assert ask.status == 422, ts
        ask.put("items", {"id": 1, "from": FIRST, "until": LAST})
        for name, ts in zip(("from", "until"), beyond, strict=True):
            ask.put("items", {"id": 1, name: ts})
            assert ask.status == 422, ts
        assert ask.get("trending", window="999999999d")["items"]
    with served(item_knn(), tmp_path) as ask:
        assert [one["ts"] for one in ask.get("events", user=USER)["events"]] == [FIRST]
        (item,) = ask.get("items", item=1)["items"]
        assert (item["from"], item["until"]) == (FIRST, LAST)
        for what in ("events", "items"):
            assert ask.get("export", what=what)
            assert ask.status == 200


def test_events_of_a_user_newest_first(tmp_path: Path, kept: dict[str, Any]) -> None:
    with served(item_knn(), tmp_path, **kept) as ask:
        times = ["2026-11-16T12:00:00Z", "2026-11-16T13:00:00+01:00", "2026-11-16T14:00:00"]
        for item, ts in enumerate(times):
            ask.post("events", {"user": USER, "item": item, "ts": ts, "value": 2.5})
        found = ask.get("events", user=USER)["events"]
        assert [one["item"] for one in found] == [2, 1, 0]
        assert [one["ts"] for one in found] == [
            "2026-11-16T14:00:00Z",
            "2026-11-16T12:00:00Z",
            "2026-11-16T12:00:00Z",
        ]
        older = ask.get("events", user=USER, before=found[0]["seq"], k=1)["events"]
        assert [one["item"] for one in older] == [1]
        assert [one["item"] for one in ask.get("events", k=2)["events"]] == [2, 1]


@pytest.mark.process
def test_erasure_forgets_a_user_everywhere(tmp_path: Path, kept: dict[str, Any]) -> None:
    with served(item_knn(), tmp_path, **kept) as ask:
        ask.put("experiments", {"name": "e", "arms": {"default": 1}})
        shown = ask.get("recommend", user=USER, experiment="e")
        ask.post("events", {"user": USER, "item": 3, "request_id": shown["request_id"]})
        ask.service.require_writer().change("item", {"id": 1, "since": 1}).result()
        gone = ask.delete("events", user=USER)
        assert (gone["events"], gone["exposures"]) == (1, 1)
        assert ask.get("recommend", user=USER)["fallback"] == "popular"
        assert ask.get("events", user=USER)["events"] == []
        ask.get("users", user=USER)
        assert ask.status == 404
        ask.get("next", request_id=shown["request_id"])
        assert ask.status == 404
        ask.finish(gone["task"])
        for path in (tmp_path / "serve" / "models" / "default").glob("*.xorec"):
            assert Recommender.load(path).user_ids.find(USER) < 0
        assert ask.service.reader.changes("erase") == []  # not even that it was this one
        ask.post("events", {"user": USER, "item": DATA.items[4]})  # somebody new by the same id
        expected = item_knn().recommend_for([DATA.items[4]], 5).ids()
        assert ask.ids(USER, 5) == expected
    with served(item_knn(), tmp_path, **kept) as ask:
        assert ask.ids(USER, 5) == expected
