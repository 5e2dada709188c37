"""What happened since the model was made: what was said of items, and recent events by user.

All generations share it.
"""

from __future__ import annotations

import datetime
import time
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from xorec.core.errors import OptionError, XorecError
from xorec.service.log.records import EventColumns, Id

Attribute = str | int | float | bool
_REMEMBERED = 65_536
"""Changes of which is known what they changed."""


@dataclass(frozen=True)
class ItemInfo:
    """What was said of an item. categories: None leaves those of the model.

    from_, until: microseconds since 1970, UTC. deleted: not listed, and nothing known of it.
    """

    name: str | None = None
    categories: tuple[str, ...] | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    hidden: bool = False
    from_: int | None = None
    until: int | None = None
    deleted: bool = False
    since: int = 0

    def is_available(self, now: int) -> bool:
        return not (
            self.hidden
            or self.deleted
            or (self.from_ is not None and now < self.from_)
            or (self.until is not None and now >= self.until)
        )

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> ItemInfo:
        """From a change of the log; the inverse of `to_dict`."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        if known.get("categories") is not None:
            known["categories"] = tuple(known["categories"])
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """For a change of the log: what is not as it comes."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value not in (None, False, 0, {}) or name == "since"
        }


@dataclass(frozen=True)
class ModelRef:
    """Which model answered."""

    name: str
    generation: int
    digest: str


class NotReadyError(XorecError):
    """Something is still being made: ask again in a moment. The service answers 503."""


class ItemInfos:
    """Items by id. version: grows with every change, for caches of what follows from it."""

    def __init__(self) -> None:
        self.infos: dict[Id, ItemInfo] = {}
        self.version = 0
        self._labels: set[str] = set()
        self._dated: tuple[int, list[int]] = (-1, [])
        self._latest: dict[int, Id] = {}
        """The item that each of the last versions has changed."""

    def apply(self, body: Mapping[str, Any]) -> None:
        """A change of kind "item": {"id": .., **ItemInfo.to_dict()}."""
        info = ItemInfo.from_dict(body)
        self.infos[body["id"]] = info
        self._labels.update(info.categories or ())
        self._latest[self.version + 1] = body["id"]
        self._latest.pop(self.version + 1 - _REMEMBERED, None)
        self.version += 1

    def changed_since(self, version: int) -> tuple[int, list[Id]]:
        """The version of now, and the items that have changed since another; once each.

        After very many changes: all items.
        """
        now = self.version
        try:
            changed = [self._latest[at] for at in range(version + 1, now + 1)]
        except KeyError:
            changed = list(self.infos)
        return now, list(dict.fromkeys(changed))

    def get(self, item: Id) -> ItemInfo | None:
        return self.infos.get(item)

    def has_label(self, label: str) -> bool:
        """Whether an item was ever put into this category."""
        return label in self._labels

    def boundary(self, now: int) -> int:
        """How many times of beginning or ending have passed: changes when availability does."""
        now_at = self.version  # read first: what comes meanwhile is looked at next time
        version, times = self._dated
        if version != now_at:
            times = sorted(
                time
                for info in list(self.infos.values())
                for time in (info.from_, info.until)
                if time is not None
            )
            self._dated = now_at, times
        return bisect_right(times, now)


def patched(info: ItemInfo, changes: Mapping[str, Any]) -> ItemInfo:
    """With what a PATCH names; what it does not name stays."""
    return ItemInfo.from_dict({**vars(info), "deleted": False, **changes})


def micros(moment: datetime.datetime | None) -> int | None:
    """Microseconds since 1970, UTC; a time without a zone is UTC.

    >>> micros(datetime.datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    found = (moment - _EPOCH) // _MICROSECOND
    if not _FIRST <= found <= _LAST:
        raise OptionError(f"{moment.isoformat()} is not in the years 1 to 9999 of UTC.")
    return found


def now_micros() -> int:
    return time.time_ns() // 1000


def iso(moment: int | None) -> str | None:
    """The time as ISO 8601 in UTC; times beyond the years 1 to 9999 are shown as their ends.

    >>> iso(1000000), iso(-(10**18))
    ('1970-01-01T00:00:01Z', '0001-01-01T00:00:00Z')
    """
    if moment is None:
        return None
    text = (_EPOCH + min(max(moment, _FIRST), _LAST) * _MICROSECOND).isoformat()
    return text.replace("+00:00", "Z")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST, _LAST = (
    (end.replace(tzinfo=datetime.UTC) - _EPOCH) // _MICROSECOND
    for end in (datetime.datetime.min, datetime.datetime.max)
)


class Act(NamedTuple):
    """An event of one user. A value of 0 or less hides the item and teaches nothing."""

    seq: int
    item: Id
    value: float


Flat = Union[tuple[Any, ...], "array[float]"]
"""seq, item, value, seq, item, value, ..: an array where all items are whole numbers that a float
has."""
Packed = tuple[Any, ...] | bytes
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
        self._acts: dict[Id, Packed] = {}

    def __len__(self) -> int:
        return sum(len(self._flat(user)) for user in self._acts) // _WIDTH

    def __contains__(self, user: Id) -> bool:
        return user in self._acts

    def users(self) -> list[Id]:
        return list(self._acts)

    def add(self, events: EventColumns) -> None:
        """More, the newest; those that every served generation knows are passed over."""
        known = bisect_right(events.seqs, self.floor)
        seqs, users, items, values, _ = events.part(known)
        fresh: defaultdict[Id, list[Any]] = defaultdict(list)
        for user, *act in zip(users, seqs, items, values, strict=True):
            fresh[user] += act
        for user, newest in fresh.items():
            self._acts[user] = _as_bytes(_joined(self._flat(user), _packed(newest)))
        if seqs:
            self.last_seq = max(self.last_seq, seqs[-1])

    def of(self, user: Id, after: int = 0) -> Sequence[Act]:
        """What a user did after a seq of the log, in order."""
        return tuple(map(Act, *_columns(_after(self._flat(user), after))))

    def last_of(self, user: Id) -> int:
        """The seq of a user's newest event; 0 where there is none."""
        acts = self._flat(user)
        return int(acts[-_WIDTH]) if acts else 0

    def forget(self, user: Id) -> None:
        self._acts.pop(user, None)

    def reach_back(self, older: EventColumns, floor: int) -> None:
        """Have the events after `floor` too: for a generation that is older than all served."""
        before = RecentEvents(floor)
        before.add(older.part(0, bisect_right(older.seqs, self.floor)))
        for user in before._acts:
            self._acts[user] = _as_bytes(_joined(before._flat(user), self._flat(user)))
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
                self._acts[user] = _as_bytes(left)

    def takers(self, item: Id, after: int) -> list[Id]:
        """Users who took an item after a seq of the log, the newest first."""
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
        """How many users took each item after a seq of the log."""
        return Counter(
            item
            for user in self.users()
            for item in {act.item for act in self.of(user, after) if act.value > 0}
        )


@dataclass
class SharedState:
    """What happened after the generations were made; all of them share it.

    erased: users that were erased, and the seq of that in the log. cold: items of events that no
    served model has, and the time of their first event.
    """

    recent: RecentEvents = field(default_factory=RecentEvents)
    catalogue: ItemInfos = field(default_factory=ItemInfos)
    erased: dict[Id, int] = field(default_factory=dict)
    cold: dict[Id, int] = field(default_factory=dict)


def _as_bytes(acts: Flat) -> Packed:
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
    """Those after a seq of the log."""
    if not acts or acts[0] > seq:
        return acts
    return acts[_WIDTH * bisect_right(acts[::_WIDTH], seq) :]
