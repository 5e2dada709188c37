"""Recent events: what users did since the oldest generation that is served."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, Union

from xorec.service.events.records import EventColumns, Id


class Act(NamedTuple):
    """An event of one user. A value of 0 or less hides the item and teaches nothing."""

    seq: int
    item: Id
    value: float


Flat = Union[tuple[Any, ...], "array[float]"]
"""seq, item, value, seq, item, value, ..: an array where all items are whole numbers that a float
has."""
Kept = tuple[Any, ...] | bytes
"""The same as it is kept, an array as its bytes: far smaller than a tuple for each act."""
_WIDTH = len(Act._fields)
_EXACT = 2**53


class RecentEvents:
    """Events after `floor`, by user. One thread adds, any thread reads: entries are replaced whole.

    >>> recent = RecentEvents()
    >>> recent.add(EventColumns(seqs=[4], users=["ann"], items=["tea"], values=[1.0], times=[0]))
    >>> recent.of("ann", after=3), recent.of("ann", after=4)
    ((Act(seq=4, item='tea', value=1.0),), ())
    """

    def __init__(self, floor: int = 0) -> None:
        self.floor = floor
        self.last_seq = 0
        """Of the newest event."""
        self._acts: dict[Id, Kept] = {}

    def __len__(self) -> int:
        return sum(len(self._flat(user)) for user in self._acts) // _WIDTH

    def __contains__(self, user: Id) -> bool:
        return user in self._acts

    def users(self) -> list[Id]:
        """Everybody who has recent events."""
        return list(self._acts)

    def add(self, events: EventColumns) -> None:
        """More, the newest; those that every served generation knows are passed over."""
        known = bisect_right(events.seqs, self.floor)
        seqs, users, items, values, _ = events.part(known)
        fresh: defaultdict[Id, list[Any]] = defaultdict(list)
        for user, *act in zip(users, seqs, items, values, strict=True):
            fresh[user] += act
        for user, newest in fresh.items():
            self._acts[user] = _kept(_joined(self._flat(user), _packed(newest)))
        if seqs:
            self.last_seq = max(self.last_seq, seqs[-1])

    def of(self, user: Id, after: int = 0) -> Sequence[Act]:
        """What a user did after a place of the log, in order."""
        return tuple(map(Act, *_columns(_after(self._flat(user), after))))

    def last_of(self, user: Id) -> int:
        """The place of a user's newest event; 0 where there is none."""
        acts = self._flat(user)
        return int(acts[-_WIDTH]) if acts else 0

    def forget(self, user: Id) -> None:
        """Erase a user."""
        self._acts.pop(user, None)

    def reach_back(self, older: EventColumns, floor: int) -> None:
        """Have the events after `floor` too: for a generation that is older than all served."""
        before = RecentEvents(floor)
        before.add(older.part(0, bisect_right(older.seqs, self.floor)))
        for user in before._acts:
            self._acts[user] = _kept(_joined(before._flat(user), self._flat(user)))
        self.floor = min(self.floor, floor)

    def trim(self, floor: int) -> None:
        """Drop what every served generation knows."""
        if floor <= self.floor:
            return
        self.floor = floor
        for user in self.users():
            acts = self._flat(user)
            left = _after(acts, floor)
            if not left:
                del self._acts[user]
            elif len(left) < len(acts):
                self._acts[user] = _kept(left)

    def takers(self, item: Id, after: int) -> list[Id]:
        """Users who took an item after a place of the log, the newest first."""
        last = {
            user: max(seqs)
            for user in self.users()
            if item in self._flat(user)  # most have not: seen without looking at each act
            and (seqs := [a.seq for a in self.of(user, after) if a.item == item and a.value > 0])
        }
        return sorted(last, key=lambda user: -last[user])

    def _flat(self, user: Id) -> Flat:
        kept = self._acts.get(user, ())
        return array("d", kept) if isinstance(kept, bytes) else kept

    def item_counts(self, after: int) -> Counter[Id]:
        """How many users took each item after a place of the log."""
        return Counter(
            item
            for user in self.users()
            for item in {act.item for act in self.of(user, after) if act.value > 0}
        )


def _kept(acts: Flat) -> Kept:
    return acts.tobytes() if isinstance(acts, array) else acts


def _packed(acts: list[Any]) -> Flat:
    whole = all(type(item) is int and abs(item) < _EXACT for item in acts[1::_WIDTH])
    return array("d", acts) if whole else tuple(acts)


def _joined(older: Flat, newer: Flat) -> Flat:
    """Both, one after the other."""
    if not older or not newer:
        return older or newer
    if isinstance(older, array) and isinstance(newer, array):
        return older + newer
    columns = zip(*map(_columns, (older, newer)), strict=True)
    rows = zip(*((*a, *b) for a, b in columns), strict=True)
    return tuple(value for row in rows for value in row)


def _columns(acts: Flat) -> tuple[Sequence[int], Sequence[Id], Sequence[float]]:
    """seq, item and value of each act, as they came."""
    if isinstance(acts, array):
        return [*map(int, acts[::_WIDTH])], [*map(int, acts[1::_WIDTH])], acts[2::_WIDTH]
    return acts[::_WIDTH], acts[1::_WIDTH], acts[2::_WIDTH]


def _after(acts: Flat, seq: int) -> Flat:
    """Those after a place of the log."""
    if not acts or acts[0] > seq:
        return acts
    return acts[_WIDTH * bisect_right(acts[::_WIDTH], seq) :]
