"""Two models on events that neither has learned: each user's last new item is held out.

Both models know of a user what they would know in service just before that event. What is held out
comes after the last event that either generation has learned, and stands in neither file: a file
that was fitted elsewhere may know more than the log says of it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.service.live.model import LiveModel
from xorec.service.live.state import NotReadyError
from xorec.service.log.records import Id

FEWEST = 20
"""Users that are needed to judge by."""
Floats = npt.NDArray[np.float64]
_FRESH = 30.0
"""Seconds for which a comparison holds though events have come."""
_KEPT = 16


class HeldOut(NamedTuple):
    """A user's last new item, and the seq of that event in the log."""

    user: Id
    item: Id
    seq: int


def held_out(a: LiveModel, b: LiveModel, seconds: float = 1.0) -> list[HeldOut]:
    """Of every user who has one, the last item that is new to both models; the newest first.

    seconds: then it ends; users who came last are looked at first.
    """
    after = max(a.about.applied_seq, b.about.applied_seq)
    until = time.monotonic() + seconds
    found: list[HeldOut] = []
    for user in reversed(a.recent.users()):
        for act in reversed(a.recent.of(user, after)):
            if act.value > 0 and all(_is_new(live, user, act.item, act.seq) for live in (a, b)):
                found.append(HeldOut(user, act.item, act.seq))
                break
        if time.monotonic() > until:
            break
    return sorted(found, key=lambda one: -one.seq)


def _is_new(live: LiveModel, user: Id, item: Id, seq: int) -> bool:
    """Whether the model has the item, and could have listed it to the user just then."""
    row = live.item_row(item)
    if row < 0:
        return False
    known = live.user_row(user)
    if known >= 0 and row in live.recommender.items_of(known):
        return False
    earlier = live.recent.of(user, live.about.applied_seq)
    return all(act.item != item for act in earlier if act.seq < seq)


def ranks(
    a: LiveModel, b: LiveModel, tests: list[HeldOut], k: int, seconds: float
) -> npt.NDArray[np.int64]:
    """The rank of each held-out item in the lists of a and b, from 1; 0: not in the list. Shape
    (n, 2), of as many tests as time allows.

    Users of whom one of the models knew nothing are left out, and no item is hidden.
    """
    until = time.monotonic() + seconds
    found: list[list[int]] = []
    for test in tests:
        if time.monotonic() > until:
            break
        users = [live.query_user_before(test.user, test.seq) for live in (a, b)]
        if any(user.query is None for user in users):
            continue
        both = []
        for live, user in zip((a, b), users, strict=True):
            rows, _ = live.search(user, k, None, None).row(0)
            at = np.flatnonzero(rows == live.item_row(test.item))
            both.append(int(at[0]) + 1 if len(at) else 0)
        found.append(both)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def ndcg(rank: npt.NDArray[np.int64]) -> Floats:
    """Of one held-out item each: 1 / log2(1 + rank), 0 where it is not in the list.

    >>> ndcg(np.array([1, 3, 0])).tolist()
    [1.0, 0.5, 0.0]
    """
    return np.where(rank > 0, 1 / np.log2(np.maximum(rank, 1) + 1.0), 0.0)


def hit(rank: npt.NDArray[np.int64]) -> Floats:
    """1 where it is in the list."""
    return (rank > 0).astype(np.float64)


class Comparisons:
    """The last comparisons; one is made at a time. They hold until a generation changes, or for
    `_FRESH` seconds after new events."""

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, seq: int, make: Callable[[], Any]) -> Any:
        """One that still holds at this seq of the log, or a new one; 503 if others are made."""
        if not self._lock.acquire(timeout=1):
            raise NotReadyError("another comparison is being made: ask again.")
        try:
            kept = self._made.get(key)
            now = time.monotonic()
            if kept is None or (kept[1].seq != seq and now - kept[0] > _FRESH):
                kept = self._made[key] = now, make()
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            return kept[1]
        finally:
            self._lock.release()
