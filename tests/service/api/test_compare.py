"""Two models: overlap by plain sets, figures that claim no more than was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from tests.support.planted_shop import DATA, item_knn, taste
from tests.support.service_in_process import Served, served
from xorec.recommender.recommender import Recommender
from xorec.service.live import held_out
from xorec.service.live.held_out import Comparisons


@cache
def _poor() -> Recommender:
    return Recommender.from_model(xorec.Popularity().fit(DATA), DATA)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(item_knn(), tmp_path, {"b": _poor()}) as ask:
        yield ask


def _compare(ask: Served, **query: Any) -> Any:
    return ask.get("compare", a="default", b="b", **query)


def test_overlap_is_the_share_of_items_that_both_lists_have(ask: Served) -> None:
    found = _compare(ask, k=5)
    shares = {}
    for user in DATA.users:
        lists = [set(ask.ids(user, 5, model=name)) for name in ("default", "b")]
        shares[user] = len(lists[0] & lists[1]) / 5
    assert found["users"] == 60
    assert found["overlap"] == pytest.approx(np.mean(list(shares.values())))
    assert found["overlap_low"] <= found["overlap"] <= found["overlap_high"]
    assert len(found["differ"]) == 20
    for one in found["differ"]:
        assert one["overlap"] == shares[one["user"]] == one["shared"] / 5
    told = [one["overlap"] for one in found["differ"]]
    assert told == sorted(shares.values())[:20]


def test_the_sample_is_the_same_every_time_and_spread(ask: Served) -> None:
    users = [[one["user"] for one in _compare(ask, users=10, k=k)["differ"]] for k in (5, 5, 6)]
    assert _compare(ask, users=10)["users"] == 10
    assert users[0] == users[1]
    assert set(users[0]) == set(users[2])
    rows = sorted(DATA.users.find(user) for user in users[0])
    assert max(np.diff(rows)) < 20


def test_without_events_nothing_is_claimed(ask: Served) -> None:
    found = _compare(ask)
    assert (found["measured_on"], found["metrics"]) == (None, [])
    assert "20 are needed" in found["not_measured"]


def test_the_better_model_wins_on_the_newest_events(ask: Served) -> None:
    ask.post("events", {"events": taste(2)})
    found = _compare(ask, k=10)
    assert (found["measured_on"], found["not_measured"]) == ("newest events", None)
    ndcg, hits = found["metrics"]
    assert (ndcg["metric"], hits["metric"]) == ("ndcg@10", "user_hr@10")
    for row in (ndcg, hits):
        assert row["comparable"]
        assert row["a"]["low"] <= row["a"]["value"] <= row["a"]["high"]
        assert row["a"]["users"] == row["b"]["users"] == 60
        assert row["difference"]["value"] == pytest.approx(row["a"]["value"] - row["b"]["value"])
        assert row["difference"]["value"] > 0
        assert row["difference"]["p_value"] < 0.05


def test_the_figure_is_that_of_the_lists_just_before_the_event(ask: Served) -> None:
    first, last = taste(2)[:60], taste(2)[60:]
    ask.post("events", {"events": first})
    before = {user: ask.ids(user, 10) for user in DATA.users}
    ask.post("events", {"events": last})
    ndcg = _compare(ask, k=10)["metrics"][0]
    expected = []
    for event in last:
        listed = before[event["user"]]
        rank = listed.index(event["item"]) + 1 if event["item"] in listed else None
        expected.append(0.0 if rank is None else 1 / np.log2(1 + rank))
    assert ndcg["a"]["value"] == pytest.approx(np.mean(expected))


@pytest.mark.process
def test_a_model_is_not_tested_on_what_it_has_learned(ask: Served) -> None:
    events = taste(2)
    ask.post("events", {"events": events})
    ask.finish(ask.post("refit", {"kind": "update", "name": "b"})["task"]["id"])
    found = _compare(ask)  # b has learned them all, though a has not
    assert found["metrics"] == []
    assert found["not_measured"].startswith("0 users")
    ask.post("events", {"events": taste(3)[120:]})
    assert _compare(ask, users=150)["measured_on"] == "newest events"


def test_nor_on_pairs_that_its_file_has_from_elsewhere(tmp_path: Path) -> None:
    """A file fitted on exported events says nothing of the log."""
    events = taste(1)
    knows = item_knn().update([(one["user"], one["item"]) for one in events])
    with served(item_knn(), tmp_path, {"b": knows}) as ask:
        ask.post("events", {"events": events})
        live = ask.service.models
        assert live["b"].about.applied_seq == 0
        assert held_out.held_out(live.default, live["b"]) == []
        assert held_out.held_out(live["b"], live.default) == []


def test_what_is_held_out_is_the_last_new_item_that_was_liked(ask: Served) -> None:
    user = DATA.users[0]
    one, two, three = item_knn().recommend(user, 3).ids()
    own = DATA.items[int(DATA.indices[DATA.indptr[0]])]
    acts = [(one, 1.0), (two, 1.0), (three, -1.0), (two, 1.0), (own, 1.0), ("4711", 1.0)]
    for item, value in acts:
        if item != "4711":
            ask.post("events", {"user": user, "item": item, "value": value})
    models = ask.service.models
    (found,) = held_out.held_out(models.default, models["b"])
    assert (found.user, found.item, found.seq) == (user, two, 2)
    ranks = held_out.ranks(models.default, models["b"], [found], 10, 5.0)
    assert ranks[0, 0] > 0
    asker = models.default.query_user_before(user, 2)
    assert models.default.item_row(one) in asker.have
    assert models.default.item_row(two) not in asker.have
    assert models.default.item_row(two) in models.default.query_user(user).have


def test_it_ends_in_time(ask: Served) -> None:
    ask.post("events", {"events": taste(1)})
    models = ask.service.models
    (first,) = held_out.held_out(models.default, models["b"], seconds=0.0)
    every = held_out.held_out(models.default, models["b"])
    assert len(every) == 60
    assert first == every[0]
    assert len(held_out.ranks(models.default, models["b"], every, 10, -1.0)) == 0


def _validated(made: Recommender, value: float, judged_on: str = "40 pairs") -> Recommender:
    figures = {
        "metric": "ndcg@10",
        "value": value,
        "interval": [value - 0.1, value + 0.1],
        "users": 33,
        "judged_on": judged_on,
    }
    return replace(made, metadata={**made.metadata, "validation": figures})


@pytest.mark.parametrize(("said", "comparable"), [("40 pairs", True), ("50 pairs", False)])
def test_figures_of_the_files_are_told_as_what_they_are(
    tmp_path: Path, said: str, comparable: bool
) -> None:
    a, b = _validated(item_knn(), 0.5), _validated(_poor(), 0.2, said)
    with served(a, tmp_path, {"b": b}) as ask:
        found = _compare(ask)
    (row,) = found["metrics"]
    assert found["measured_on"] == row["measured_on"] == "validation"
    assert (row["a"]["value"], row["a"]["low"], row["a"]["users"]) == (0.5, 0.4, 33)
    assert row["b"]["value"] == 0.2
    assert row["comparable"] is comparable
    assert row["difference"] is None
    assert "40 pairs" in row["how"]


def test_one_of_the_files_may_have_none(tmp_path: Path) -> None:
    with served(item_knn(), tmp_path, {"b": _validated(_poor(), 0.2)}) as ask:
        found = _compare(ask)
    (row,) = found["metrics"]
    assert row["a"] is None
    assert row["b"]["value"] == 0.2
    assert found["measured_on"] is None
    assert not row["comparable"]


@pytest.mark.process
def test_it_is_kept_for_two_generations_and_forgets_who_is_erased(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    whole = Comparisons.get

    def counted(self: Comparisons, key: Any, seq: int, make: Any) -> Any:
        def makes() -> Any:
            made.append(key)
            return make()

        return whole(self, key, seq, makes)

    monkeypatch.setattr(Comparisons, "get", counted)
    first = _compare(ask)
    assert _compare(ask)["differ"] == first["differ"]
    assert len(made) == 1
    gone = first["differ"][0]["user"]
    ask.delete("events", user=gone)
    assert gone not in [one["user"] for one in _compare(ask)["differ"]]
    assert len(made) == 1
    ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
    _compare(ask)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"a": "default", "b": "default"}, "name two models"),
        ({"a": "default", "b": "c"}, "there is no model 'c'"),
        ({"a": "default"}, "b"),
        ({"a": "default", "b": "b", "users": 5000}, "users"),
        ({"a": "default", "b": "b", "k": 0}, "k"),
    ],
)
def test_what_cannot_be_compared(ask: Served, query: dict[str, Any], said: str) -> None:
    problem = ask.get("compare", **query)
    assert ask.status == 422
    assert said in problem["detail"]
