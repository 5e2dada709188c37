"""Finding users and items by some letters of their id or name."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.printable import jsonable
from xorec.core.threads import lazy_property
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.service.events.records import Id
from xorec.service.live.folding import fold_all, folded_bytes
from xorec.service.live.late_letters import Late, LateLetters
from xorec.service.live.letters import LetterIndex

if TYPE_CHECKING:
    from xorec.service.live.model import LiveModel


def find_ids(live: LiveModel, kind: Literal["user", "item"], letters: str, k: int) -> list[Id]:
    """Up to k ids that have these letters in them, or in the item's name.

    First the id that is just so; then what begins with them, then what has a word that does, then
    the rest; each by popularity (users: who has most items), what came after the model at the end.
    Neither case nor accents count, nor blanks around the letters. No letters: the most popular.
    """
    finder = live.user_finder if kind == "user" else live.item_finder
    return finder.find(letters, k)


class Finder(ABC):
    """Letters of one generation, packed when they are first asked for, and of what came since."""

    def __init__(self, live: LiveModel, ids: Ids) -> None:
        self._live, self._ids = live, ids
        self._late = LateLetters()
        self._came = 0
        self._lock = threading.Lock()

    def find(self, letters: str, k: int) -> list[Id]:
        """See `find_ids`."""
        bare = letters.strip()
        with self._lock:
            self._catch_up()
            segments = self._late.segments()
            exact = [one for one in self._written_so(letters, bare) if self._is_there(one)]
        folded = folded_bytes(bare)
        if bare and not folded:  # nothing but accents
            return exact[:k]
        rows = self._order
        found = [
            (how, place, jsonable(self._ids[int(rows[place])]))
            for how, place in self._learned.search(folded, k)
        ]
        for segment in segments:
            found += segment.search(folded, k)
        found.sort(key=lambda one: one[:2])
        return list(dict.fromkeys([*exact, *(one for _, _, one in found)]))[:k]

    @property
    def is_packed(self) -> bool:
        """Whether somebody has asked for letters."""
        return "_learned" in vars(self)

    def pack(self) -> None:
        """Make ready for the first who asks."""
        self.find("", 1)

    # -- what is there

    @property
    @abstractmethod
    def _order(self) -> npt.NDArray[np.integer]:
        """Rows of the model, the best first."""

    @abstractmethod
    def _place(self, entry: Id) -> int:
        """Where an id stands in that order; -1 where the model does not have it."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Take in what happened since the last time."""

    def _names(self) -> Text | None:
        return None

    @lazy_property
    def _learned(self) -> LetterIndex:
        """Of the model; the kernels that search it are loaded, too."""
        names = self._names()
        names = None if names is None else fold_all(names)
        index = LetterIndex(fold_all(_text_of(self._ids)), names, self._order)
        index.search(b"\xfe", 1)  # which no text has
        return index

    def _written_so(self, *texts: str) -> list[Id]:
        """Ids that are written just like one of the texts, whether they are there or not."""
        return [jsonable(self._ids.parse(text)) for text in dict.fromkeys(texts)]

    def _is_there(self, entry: Id) -> bool:
        if entry in self._late:
            return True
        place = self._place(entry)
        return place >= 0 and not self._learned.is_skipped(place)

    # -- changes

    def _put(self, entry: Id, name: str | None = None) -> None:
        """It is found by these letters from now on."""
        old, place = self._late.get(entry), self._place(entry)
        if old is not None:
            place = old.rank
        elif place >= 0:
            self._learned.skip(place)
        else:
            self._came += 1
            place = len(self._ids) + self._came
        self._late.put(entry, Late.of(place, entry, name))

    def _drop(self, entry: Id) -> None:
        """It is not found any more."""
        place = self._place(entry)
        if place >= 0:
            self._learned.skip(place)
        self._late.drop(entry)


class ItemFinder(Finder):
    """Items of the model, with what was said of them since; and those that events or PUT named."""

    def __init__(self, live: LiveModel) -> None:
        super().__init__(live, live.items)
        self._version = 0
        self._cold: list[Id] = []

    @property
    def _order(self) -> npt.NDArray[np.integer]:
        return self._live.item_order

    def _place(self, entry: Id) -> int:
        row = self._live.item_row(entry)
        return int(self._live.recommender.tie_rank[row]) if row >= 0 else -1

    def _names(self) -> Text | None:
        return self._live.recommender.names

    def _catch_up(self) -> None:
        version, changed = self._live.catalogue.changed_since(self._version)
        for item in changed:
            self._take_in(item)
        self._version = version
        old, self._cold = self._cold, list(self._live.cold)
        for item in (*_added(old, self._cold), *_added(self._cold, old)):
            self._take_in(item)

    def _take_in(self, item: Id) -> None:
        """As it is now."""
        info, row = self._live.catalogue.get(item), self._live.item_row(item)
        is_there = row >= 0 or item in self._live.cold if info is None else not info.deleted
        if not is_there:
            self._drop(item)
        elif row < 0:
            self._put(item, None if info is None else info.name)
        elif (info is not None and info.name is not None) or not self._is_learned(item):
            self._put(item, self._live.item_names([row], [item])[0])

    def _is_learned(self, item: Id) -> bool:
        """Whether it is found by the letters that the model has of it."""
        return item not in self._late and self._is_there(item)


class UserFinder(Finder):
    """Users of the model that were not erased, and those who came since."""

    def __init__(self, live: LiveModel) -> None:
        super().__init__(live, live.users)
        self._erased: dict[Id, int] = {}
        self._recent: list[Id] = []

    @property
    def _order(self) -> npt.NDArray[np.integer]:
        return self._live.user_order

    def _place(self, entry: Id) -> int:
        row = self._live.user_row(entry)
        return int(self._live.user_rank[row]) if row >= 0 else -1

    def _catch_up(self) -> None:
        erased = dict(self._live.erased)
        gone = {one for one, seq in erased.items() if self._erased.get(one) != seq}
        for user in gone:
            row = self._ids.find(self._ids.parse(str(user)))
            if row >= 0 and self._live.user_row(user) < 0:
                self._learned.skip(int(self._live.user_rank[row]))
            self._late.drop(user)
        self._erased = erased
        old = [one for one in self._recent if one not in gone] if gone else self._recent
        self._recent = self._live.recent.users()
        for user in _added(self._recent, old):
            self._late.drop(user)
        for user in _added(old, self._recent):
            if self._live.user_row(user) < 0:
                self._put(user)


def _added(before: list[Id], now: list[Id]) -> list[Id]:
    """What is in the second list and not in the first, in its order; quick where it is behind."""
    both = min(len(before), len(now))
    if now[:both] == before[:both]:
        return now[both:]
    known = set(before)
    return [one for one in now if one not in known]


def _text_of(ids: Ids) -> Text:
    """Ids as they are written."""
    if isinstance(ids.values, Text):
        return ids.values
    written = np.asarray(ids.values, dtype=np.int64).astype("S20")
    letters = written.view(np.uint8).reshape(len(ids), 20)
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(letters, axis=1), out=offsets[1:])
    return Text(letters[letters != 0], offsets)
