from __future__ import annotations

from xorec.service.events.records import Event
from xorec.service.live.recent import RecentEvents


def _event(seq: int, user: str, item: str, value: float = 1.0) -> Event:
    return Event(seq, f"e{seq}", user, item, "click", value, seq, None)


def test_trim_drops_what_every_generation_knows_and_reach_back_brings_it_again() -> None:
    recent, events = RecentEvents(), [_event(n, "ab"[n % 2], str(n)) for n in range(1, 9)]
    for event in events:
        recent.add(event)
    whole = {user: tuple(recent.of(user)) for user in "ab"}
    recent.trim(6)
    assert [act.seq for act in recent.of("a")] == [8]
    assert [act.seq for act in recent.of("b")] == [7]
    recent.trim(3)  # never backwards
    assert (recent.floor, len(recent), recent.last_seq) == (6, 2, 8)
    recent.reach_back(events[2:], 2)
    assert (recent.floor, len(recent)) == (2, 6)
    assert tuple(recent.of("a", after=0)) == whole["a"][1:]
    recent.trim(8)
    assert "a" not in recent
    assert recent.users() == []


def test_items_are_counted_once_a_user_and_dislikes_are_not() -> None:
    recent = RecentEvents()
    for seq, (user, item, value) in enumerate(
        [("a", "x", 1), ("a", "x", 1), ("b", "x", 1), ("b", "y", 1), ("c", "y", -1)], 1
    ):
        recent.add(_event(seq, user, item, value))
    assert recent.item_counts(0) == {"x": 2, "y": 1}
    assert recent.item_counts(3) == {"y": 1}
    recent.forget("b")
    assert recent.item_counts(0) == {"x": 1}
