from __future__ import annotations

from collections.abc import Sequence

from xorec.service.events.records import EventColumns
from xorec.service.live.recent import RecentEvents

Row = tuple[int, str, str, float]


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
