"""A generation on the disk and in memory: numbers, recent events, and nothing of who was erased."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_process import Served, served
from xorec.core.errors import UnknownIdError
from xorec.recommender.recommender import Recommender
from xorec.service.live import model
from xorec.service.live.generations import Generations
from xorec.service.live.state import RecentEvents
from xorec.service.log.records import EventColumns
from xorec.testing.examples import shop


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(shop(), tmp_path) as ask:
        yield ask


def test_queries_of_users_with_events_are_kept_up_to_a_bound(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_MOST_FOLDED", 3)
    live = ask.service.models.default
    for at in range(6):
        ask.post("events", {"user": f"new{at}", "item": "rice"})
    lists = [ask.ids(f"new{at}") for at in range(6)]
    assert list(live._folded) == ["new3", "new4", "new5"]
    assert [ask.ids(f"new{at}") for at in range(6)] == lists  # kept or not, it is the same


def test_nothing_is_kept_of_who_was_erased(ask: Served) -> None:
    ask.post("events", {"user": "cem", "item": "rice"})
    ask.ids("cem")
    assert "cem" in ask.service.models.default._folded
    ask.delete("events", user="cem")
    assert "cem" not in ask.service.models.default._folded


def test_every_event_is_in_the_very_next_list(ask: Served) -> None:
    shown = [ask.ids("new")]
    for item in ("rice", "tea"):
        ask.post("events", {"user": "new", "item": item})
        shown.append(ask.ids("new"))
        assert shown[-1] == ask.ids("new")  # the query that is kept
    assert [sorted(one) for one in shown] == [["milk", "rice", "tea"], ["milk", "tea"], ["milk"]]


# -- files


def test_import_takes_a_file_once_and_a_new_one_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.xorec"
    shop().save(path)
    folder = Generations(tmp_path / "models")
    assert folder.current() is None
    assert folder.import_file(path) == folder.current() == 1
    assert folder.import_file(path) is None
    shop().update([("eve", "tea")]).save(path)
    assert folder.import_file(path) == folder.current() == 2
    assert folder.describe(2).users == 5
    assert folder.describe(1).users == 4  # the first is a copy, not a link


def test_numbers_never_come_twice_and_a_missing_current_is_the_newest(tmp_path: Path) -> None:
    folder = Generations(tmp_path)
    first = folder.publish(shop(), "update", 7, erased_seq=5)
    second = folder.publish(shop(), "refit", 9)
    about = folder.describe(first)
    assert (about.applied_seq, about.erased_seq, about.source) == (7, 5, "update")
    folder.activate(second)
    folder.path(second).unlink()
    assert folder.current() == first
    assert folder.publish(shop(), "update", 11) == second + 1
    with pytest.raises(UnknownIdError, match="there are 1, 3"):
        folder.activate(second)
    (tmp_path / "CURRENT").write_text("no number")
    assert folder.current() == 3


def test_old_ones_go_but_none_that_is_served(tmp_path: Path) -> None:
    folder = Generations(tmp_path)
    for seq in range(6):
        folder.publish(shop(), "update", seq)
    folder.activate(2)
    (tmp_path / ".00000009.xorec.0a0b0c0d.tmp").touch()
    assert folder.remove_old(keep=2, served={3}) == [1, 4]
    assert folder.numbers() == [2, 3, 5, 6]
    folder.remove_leftovers()
    assert not list(tmp_path.glob(".*.tmp"))
    assert len(Recommender.load(folder.path(6)).user_ids) == 4


# -- recent events

Row = tuple[int, str, Any, float]


def _columns(rows: Sequence[Row]) -> EventColumns:
    return EventColumns(*zip(*((*row, row[0]) for row in rows), strict=True))


def test_trim_drops_what_every_generation_knows_and_reach_back_brings_it_again() -> None:
    recent, events = RecentEvents(), [(n, "ab"[n % 2], str(n), 1.0) for n in range(1, 9)]
    recent.add(_columns(events[:5]))
    recent.add(_columns(events[5:]))
    whole = {user: tuple(recent.of(user)) for user in "ab"}
    recent.trim(6)
    assert [act.seq for act in recent.of("a")] == [8]
    assert [act.seq for act in recent.of("b")] == [7]
    recent.trim(3)  # never backwards
    assert (recent.floor, len(recent), recent.last_seq) == (6, 2, 8)
    recent.reach_back(_columns(events[2:]), 2)
    assert (recent.floor, len(recent)) == (2, 6)
    assert tuple(recent.of("a", after=0)) == whole["a"][1:]
    recent.trim(8)
    assert "a" not in recent
    assert recent.users() == []


def test_items_are_counted_once_a_user_and_dislikes_are_not() -> None:
    recent = RecentEvents()
    acts = [("a", "x", 1), ("a", "x", 1), ("b", "x", 1), ("b", "y", 1), ("c", "y", -1)]
    recent.add(_columns([(seq, *act) for seq, act in enumerate(acts, 1)]))
    assert recent.item_counts(0) == {"x": 2, "y": 1}
    assert recent.item_counts(3) == {"y": 1}
    recent.forget("b")
    assert recent.item_counts(0) == {"x": 1}


def test_many_at_once_are_what_they_are_one_by_one_and_known_ones_are_passed_over() -> None:
    events = [(n, f"u{n % 3}", f"i{n % 5}", float(n % 2)) for n in range(1, 40)]
    whole, single, late = RecentEvents(), RecentEvents(), RecentEvents(floor=20)
    whole.add(_columns(events))
    late.add(_columns(events))
    for event in events:
        single.add(_columns([event]))
    assert (whole.last_seq, len(whole), len(late)) == (39, 39, 19)
    for user in ("u0", "u1", "u2"):
        assert whole.of(user) == single.of(user)
        assert [tuple(act) for act in whole.of(user)] == [
            (seq, item, value) for seq, who, item, value in events if who == user
        ]
        assert late.of(user) == whole.of(user, after=20)


@pytest.mark.parametrize(
    "items",
    [
        [1, 2, -3, 2**53 - 1],
        [1, 2, 2**53, 3],
        [7, "7", 7.0, 8],
        [True, 1, False, 0],
        ["a", 5, 6, "b"],
        [2**200, 4, 5, 6],
    ],
)
def test_items_come_out_as_they_went_in_whatever_they_are(items: list[Any]) -> None:
    events = [(n, "u", item, 1 / n) for n, item in enumerate(items, 1)]
    for cut in range(5):
        recent = RecentEvents()
        for some in (events[:cut], events[cut:]):
            if some:
                recent.add(_columns(some))
        acts = recent.of("u")
        assert [tuple(act) for act in acts] == [(seq, one, value) for seq, _, one, value in events]
        assert [type(act.item) for act in acts] == [type(item) for item in items]
        assert {type(act.seq) for act in acts} == {int}
        assert [act.seq for act in recent.of("u", after=2)] == [3, 4]
        assert recent.last_of("u") == 4
        recent.trim(3)
        assert [act.item for act in recent.of("u")] == items[3:]
        recent.reach_back(_columns(events[:3]), 0)
        assert [act.item for act in recent.of("u")] == items
