from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from xorec.service.live.state import RecentEvents
from xorec.service.log.records import EventColumns

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
