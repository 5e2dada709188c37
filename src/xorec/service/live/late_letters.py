"""LateLetters: ids and names that came after the model was made, found as those of the model."""

from __future__ import annotations

from typing import NamedTuple

from xorec.service.events.records import Id
from xorec.service.live.folding import folded_bytes, joined
from xorec.service.live.letters import LetterIndex

_FEW = 1000
"""Entries that are packed anew whenever one of them has changed."""


class Late(NamedTuple):
    """Something that is to be found. rank: its place, as those of the model have theirs."""

    rank: int
    id_text: bytes
    name: bytes

    @classmethod
    def of(cls, rank: int, entry: Id, name: str | None = None) -> Late:
        """Folded."""
        return cls(rank, folded_bytes(str(entry)), folded_bytes(name or ""))


class Segment:
    """Some of them, packed: what it has is fixed but for what is passed over."""

    def __init__(self, entries: dict[Id, Late]) -> None:
        self.entries = dict(sorted(entries.items(), key=lambda one: one[1].rank))
        self.ids = list(self.entries)
        self._places = {one: place for place, one in enumerate(self.ids)}
        late = self.entries.values()
        ids, names = joined([one.id_text for one in late]), joined([one.name for one in late])
        self._index = LetterIndex(ids, names)

    def drop(self, entry: Id) -> None:
        """Find it no more."""
        if self.entries.pop(entry, None) is not None:
            self._index.skip(self._places[entry])

    def search(self, letters: bytes, k: int) -> list[tuple[int, int, Id]]:
        """(how, rank, id) of up to k, best first."""
        found = []
        for how, place in self._index.search(letters, k):
            late = self.entries.get(self.ids[place])
            if late is not None:  # else another thread has just dropped it
                found.append((how, late.rank, self.ids[place]))
        return found


class LateLetters:
    """Entries by id, the newest word wins. Many are packed seldom, the newest when they change.

    One thread at a time changes it; what `segments` gives may be searched by others meanwhile.
    """

    def __init__(self) -> None:
        self._many = Segment({})
        self._few: dict[Id, Late] = {}
        self._packed: Segment | None = None

    def __contains__(self, entry: Id) -> bool:
        return entry in self._few or entry in self._many.entries

    def get(self, entry: Id) -> Late | None:
        """One of them."""
        return self._few.get(entry) or self._many.entries.get(entry)

    def ids(self) -> list[Id]:
        """Of all entries."""
        return [*self._many.entries, *self._few]

    def put(self, entry: Id, late: Late) -> None:
        """Add it, or change it."""
        self._many.drop(entry)
        self._few[entry] = late
        self._packed = None

    def drop(self, entry: Id) -> None:
        """Forget it."""
        self._many.drop(entry)
        if self._few.pop(entry, None) is not None:
            self._packed = None

    def segments(self) -> tuple[Segment, ...]:
        """All entries, packed."""
        if len(self._few) > _FEW + len(self._many.entries) // 8:
            self._many, self._few = Segment({**self._many.entries, **self._few}), {}
            self._packed = None
        if self._packed is None:
            self._packed = Segment(self._few)
        return self._many, self._packed
