"""Lists over the app: what they show, what they leave out, and that events are felt at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support.service_in_process import Served, served
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

DATA = planted(60, 80, per_user=12)


@cache
def _slim() -> Recommender:
    return Recommender.from_model(xorec.SLIM().fit(DATA), DATA)


@cache
def _codes() -> Recommender:
    return Recommender.from_model(xorec.DSIML(bits=32, epochs=2).fit(DATA), DATA)


USER: int = DATA.users[3]


@pytest.fixture(scope="module", params=["slim", "codes"])
def shop(request: Any, tmp_path_factory: Any) -> Iterator[tuple[Served, Recommender]]:
    recommender = {"slim": _slim(), "codes": _codes()}[request.param]
    with served(recommender, tmp_path_factory.mktemp("serve")) as made:
        yield made, recommender


def test_the_list_is_that_of_the_library(shop: tuple[Served, Recommender]) -> None:
    ask, recommender = shop
    for user in DATA.users.take(range(10, 25)):
        answer = ask.get("recommend", user=user, k=7)
        best = recommender.recommend(user, 7).to_dict()
        assert answer["user"] == user
        rows = [{key: one[key] for key in ("id", "name", "distance")} for one in answer["items"]]
        assert rows == [{key: one[key] for key in rows[0]} for one in best["items"]]
        scores = [one["score"] for one in best["items"]]
        assert [one["score"] for one in answer["items"]] == pytest.approx(scores)
        assert answer["fallback"] is None
        assert answer["model"]["name"] == "default"


def test_post_and_get_answer_the_same(shop: tuple[Served, Recommender]) -> None:
    ask, _ = shop
    denied = ask.ids(USER, 3)[:2]
    by_body = ask.post("recommend", {"user": USER, "k": 5, "deny": denied})
    by_query = ask.get("recommend", user=USER, k=5, deny=denied)
    assert by_body["items"] == by_query["items"]
    assert not {one["id"] for one in by_body["items"]} & set(denied)


def test_somebody_new_by_items(shop: tuple[Served, Recommender]) -> None:
    ask, recommender = shop
    history = DATA.items.take([1, 6, 11])
    answer = ask.post("recommend", {"items": [*history, 10**9], "k": 5})
    expected = recommender.recommend_for(history, 5)
    assert [one["id"] for one in answer["items"]] == expected.ids()
    assert answer["unknown"] == [10**9]


def test_ids_with_commas_between_them_get_a_hint(tmp_path: Path) -> None:
    """Only where all of them are known: an id may hold a comma."""
    pairs = [(f"u{at % 9}", f"i{at % 7}") for at in range(63)] + [("u1", "x,y")]
    data = xorec.read(pairs)
    with served(Recommender.from_model(xorec.SLIM().fit(data), data), tmp_path) as ask:
        wrong = ask.get("recommend", items="i1,i2")
        assert wrong["unknown"] == ["i1,i2"]
        assert "items=a&items=b" in wrong["hint"]
        for right in (["i1", "i2"], "x,y", "i1,nothing", "nothing"):
            assert ask.get("recommend", items=right)["hint"] is None


def test_a_user_with_items_besides_is_folded_in(shop: tuple[Served, Recommender]) -> None:
    ask, recommender = shop
    more = ask.ids(USER, 2)
    own = recommender.item_ids.take(recommender.items_of(recommender.user_row(USER)))
    answer = ask.post("recommend", {"user": USER, "items": more, "k": 6})
    assert [one["id"] for one in answer["items"]] == recommender.recommend_for(
        [*own, *more], 6
    ).ids()


def test_unknown_user_gets_popular_items_and_is_told(shop: tuple[Served, Recommender]) -> None:
    ask, recommender = shop
    answer = ask.get("recommend", user=10**7, k=4)
    order = sorted(range(len(DATA.items)), key=lambda row: recommender.tie_rank[row])
    assert answer["fallback"] == "popular"
    assert [one["id"] for one in answer["items"]] == DATA.items.take(order[:4])


def test_allow_and_shown(shop: tuple[Served, Recommender]) -> None:
    ask, _ = shop
    some = ask.ids(USER, 6)
    body = {"user": USER, "allow": [*some, 10**9], "shown": some[:1], "k": 50}
    assert [one["id"] for one in ask.post("recommend", body)["items"]] == some[1:]
    assert ask.post("recommend", {"user": USER, "allow": []})["items"] == []


def test_next_goes_on_without_repeats(shop: tuple[Served, Recommender]) -> None:
    ask, _ = shop
    whole = ask.ids(USER, 12)
    first = ask.get("recommend", user=USER, k=4)
    pages = [one["id"] for one in first["items"]]
    for _ in range(2):
        more = ask.get("next", request_id=first["request_id"])
        pages += [one["id"] for one in more["items"]]
    assert pages == whole
    ask.get("next", request_id="never-was")
    assert ask.status == 404


def test_batch_each_with_its_own_status_and_distinct_shelves(
    shop: tuple[Served, Recommender],
) -> None:
    ask, _ = shop
    queries = [{"user": USER, "k": 3}, {"user": USER, "k": 3}, {"k": 3}, {"user": USER, "kk": 1}]
    plain = ask.post("recommend/batch", {"queries": queries})["results"]
    assert [one["status"] for one in plain] == [200, 200, 422, 422]
    assert plain[0]["answer"]["items"] == plain[1]["answer"]["items"]
    distinct = ask.post("recommend/batch", {"queries": queries[:2], "distinct": True})["results"]
    shelves = [[item["id"] for item in one["answer"]["items"]] for one in distinct]
    assert shelves[0] + shelves[1] == ask.ids(USER, 6)


def test_because_names_own_items(shop: tuple[Served, Recommender]) -> None:
    ask, recommender = shop
    own = set(recommender.item_ids.take(recommender.items_of(recommender.user_row(USER))))
    for item in ask.get("recommend", user=USER, k=3, explain=True)["items"]:
        why = recommender.explain(USER, item["id"], 3)
        assert [one["id"] for one in item["because"]] == [one.id for one in why.because]
        assert {one["id"] for one in item["because"]} <= own


def test_wrong_types_are_refused_with_a_hint(shop: tuple[Served, Recommender]) -> None:
    ask, _ = shop
    assert "give 3" in ask.post("recommend", {"user": "3"})["detail"]
    assert ask.status == 422
    ask.post("recommend", {"user": True})
    assert ask.status == 422
    assert "for whom" in ask.post("recommend", {"k": 3})["detail"]
    ask.get("recommend", user=USER, model="nobody")
    assert ask.status == 422


def test_the_next_list_knows_the_event(tmp_path: Path) -> None:
    with served(_slim(), tmp_path) as ask:
        before = ask.ids(USER, 5)
        said = ask.post("events", {"user": USER, "item": before[0], "event_id": "one"})
        assert (said["accepted"], said["duplicates"], said["durability"]) == (1, 0, "disk")
        own = _slim().item_ids.take(_slim().items_of(_slim().user_row(USER)))
        assert ask.ids(USER, 5) == _slim().recommend_for([*own, before[0]], 5).ids()
        again = ask.post("events", {"user": USER, "item": before[0], "event_id": "one"})
        assert (again["accepted"], again["duplicates"], again["seq"]) == (0, 1, said["seq"])
        assert b"xorec_duplicate_events_total 1.0" in ask.service.metrics.text()
        ask.post("events", {"user": 10**6, "item": before[1]})
        assert ask.ids(10**6, 5) == _slim().recommend_for([before[1]], 5).ids()
        assert before[0] in ask.ids(USER, 80, seen=True)
        ask.get("recommend", user=USER, seq=said["seq"])
        assert ask.status == 200
    with served(_slim(), tmp_path) as ask:  # and after a restart
        assert ask.ids(10**6, 5) == _slim().recommend_for([before[1]], 5).ids()
        assert ask.started.replayed == 2


def test_an_event_without_value_hides_and_teaches_nothing(tmp_path: Path) -> None:
    with served(_slim(), tmp_path) as ask:
        before = ask.ids(USER, 5)
        ask.post("events", {"user": USER, "item": before[0], "kind": "dislike", "value": -1})
        assert ask.ids(USER, 4) == before[1:]


def test_a_seq_that_the_log_does_not_have_is_refused_and_one_that_is_late_is_503(
    tmp_path: Path,
) -> None:
    with served(_slim(), tmp_path, limits={"wait_seconds": 0.05}) as ask:
        assert "the log ends at 0" in ask.get("recommend", user=USER, seq=99)["detail"]
        assert ask.status == 422
        ask.service.sequence.publish(99)  # somebody has written what we cannot read yet
        ask.get("recommend", user=USER, seq=99)
        assert ask.status == 503
        ask.service.sequence.publish(0)


def test_lists_that_are_remembered_are_bounded_by_bytes(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest are forgotten; the last is kept, however long."""
    monkeypatch.setattr("xorec.service.live.lists._MOST_BYTES", 10_000)
    made = [ask.post("recommend", {"user": USER, "k": 2, "deny": [*range(100)]}) for _ in range(3)]
    for answer, status in zip(made, (404, 404, 200), strict=True):
        ask.get("next", request_id=answer["request_id"])
        assert ask.status == status


@pytest.mark.parametrize(
    "where", [{"all": ["a"] * 101}, {"attributes": {str(n): n for n in range(101)}}]
)
def test_a_filter_has_at_most_a_hundred_conditions(ask: Served, where: dict[str, Any]) -> None:
    assert "100" in ask.post("recommend", {"user": USER, "where": where})["detail"]
    assert ask.status == 422
