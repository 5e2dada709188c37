"""Recent events: what users did since the oldest generation that is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from xorec.service.events.records import Event, Id


class Act(NamedTuple):
    """An event of one user. A value of 0 or less hides the item and teaches nothing."""

    seq: int
    item: Id
    value: float


class RecentEvents:
    """Events after `floor`, by user. One thread adds, any thread reads: entries are replaced whole.

    >>> recent = RecentEvents()
    >>> recent.add(Event(4, "e4", "ann", "tea", "click", 1.0, 0, None))
    >>> recent.of("ann", after=3), recent.of("ann", after=4)
    ((Act(seq=4, item='tea', value=1.0),), ())
    """

    def __init__(self, floor: int = 0) -> None:
        self.floor = floor
        self.last_seq = 0
        """Of the newest event."""
        self._acts: dict[Id, tuple[Act, ...]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._acts.values()))

    def __contains__(self, user: Id) -> bool:
        return user in self._acts

    def users(self) -> list[Id]:
        """Everybody who has recent events."""
        return list(self._acts)

    def add(self, event: Event) -> None:
        """One more, the newest."""
        act = Act(event.seq, event.item, event.value)
        self._acts[event.user] = (*self._acts.get(event.user, ()), act)
        self.last_seq = max(self.last_seq, event.seq)

    def of(self, user: Id, after: int = 0) -> Sequence[Act]:
        """What a user did after a place of the log, in order."""
        acts = self._acts.get(user, ())
        if not acts or acts[0].seq > after:
            return acts
        return tuple(act for act in acts if act.seq > after)

    def forget(self, user: Id) -> None:
        """Erase a user."""
        self._acts.pop(user, None)

    def reach_back(self, older: Iterable[Event], floor: int) -> None:
        """Have the events after `floor` too: for a generation that is older than all served."""
        before = RecentEvents(floor)
        for event in older:
            if event.seq <= self.floor:
                before.add(event)
        for user, acts in before._acts.items():
            self._acts[user] = (*acts, *self._acts.get(user, ()))
        self.floor = min(self.floor, floor)

    def trim(self, floor: int) -> None:
        """Drop what every served generation knows."""
        if floor <= self.floor:
            return
        self.floor = floor
        for user, acts in list(self._acts.items()):
            if acts[-1].seq <= floor:
                del self._acts[user]
            elif acts[0].seq <= floor:
                self._acts[user] = tuple(act for act in acts if act.seq > floor)

    def takers(self, item: Id, after: int) -> list[Id]:
        """Users who took an item after a place of the log, the newest first."""
        last = {
            user: max(seqs)
            for user, acts in list(self._acts.items())
            if (seqs := [a.seq for a in acts if a.item == item and a.seq > after and a.value > 0])
        }
        return sorted(last, key=lambda user: -last[user])

    def item_counts(self, after: int) -> Counter[Id]:
        """How many users took each item after a place of the log."""
        return Counter(
            item
            for acts in list(self._acts.values())
            for item in {act.item for act in acts if act.seq > after and act.value > 0}
        )
