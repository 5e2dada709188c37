"""The search box of the page: users and items by some letters of their id or name.

A polars column has the normalized texts of a generation, best first: "id SEPARATOR name". What came
since stands in further columns. Neither case nor accents count.
"""

from __future__ import annotations

import difflib
import re
import threading
import unicodedata
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.printable import jsonable
from xorec.core.threads import lazy_property
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.service.live.model import LiveModel
from xorec.service.log.records import Id

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["user", "item"]
BEGINS, WORD, INSIDE = 1, 2, 3
"""Where letters stand: at the beginning of the id or name, of a word, or inside; best first."""
SEPARATOR = "\ufdd0"
"""Between id and name: a noncharacter, which no normalized text has."""
_BEFORE_WORD = r"[\x00-/:-@\[-`{-\x7f]"
"""What stands before a word: ASCII that is neither letter nor digit."""
_CHUNK = 1 << 16
"""Rows that are searched at once: the rest need not be looked at once there are enough hits."""
_SURPLUS = 200_000
"""Entries with the letters inside a word that are passed over in search of a word that begins with
them: what is that common ("-" where every id has one) would take long and say little."""
_FEW = 1000
"""Entries that are put into a column again whenever one of them has changed."""

# -- normalized text

_SPACES = {"Zs": " ", "Zl": " ", "Zp": " ", "Cc": " ", "Cf": "", "Pd": "-"}
"""What stands for characters of these kinds: spaces, invisible characters, dashes."""
_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")


class _Normalized(dict[int, str]):
    """What stands for a character, by its number; made when it is first met."""

    def __missing__(self, code: int) -> str:
        made = self[code] = _normalized(chr(code))
        return made


_TABLE = _Normalized()


def normalize_text(text: str) -> str:
    r"""Letters without case and accents; each character for itself.

    >>> normalize_text("Crème Brûlée"), normalize_text("STRASSE") == normalize_text("Straße")
    ('creme brulee', True)
    >>> normalize_text("\uff21\u2013\u2460")
    'a-1'
    """
    return text.lower() if text.isascii() else text.translate(_TABLE)


def _normalized(character: str) -> str:
    if character.isascii():
        return character.lower()
    if "\ud800" <= character <= "\udfff":  # half of a pair is no UTF-8: a private character
        return chr(0x100000 + ord(character))
    if character == SEPARATOR:
        return "\ufdd1"
    plain = _QUOTES.get(character) or unicodedata.normalize("NFKD", character)
    plain = unicodedata.normalize("NFKD", plain.casefold())
    kept = (one for one in plain if not unicodedata.combining(one))
    return "".join(
        one if one.isascii() else _SPACES.get(unicodedata.category(one), one) for one in kept
    )


def normalized_column(texts: Ids | Text, order: npt.NDArray[np.integer]) -> pl.Series:
    """Ids or names in the order of `order`, normalized.

    >>> normalized_column(Text.pack(["Thé", "Jam"]), np.array([1, 0])).to_list()
    ['jam', 'the']
    """
    import polars as pl

    values = texts.values if isinstance(texts, Ids) else texts
    if not isinstance(values, Text):
        return pl.Series(values[order]).cast(pl.String)
    written = values.strings(order.tolist())
    try:
        column = pl.Series(written, dtype=pl.String)
    except UnicodeEncodeError:  # half of a pair
        return pl.Series([normalize_text(one) for one in written], dtype=pl.String)
    beyond_ascii = (column.str.len_bytes() != column.str.len_chars()).arg_true()
    others = [normalize_text(written[row]) for row in beyond_ascii.to_list()]
    return column.str.to_lowercase().scatter(beyond_ascii, pl.Series(others, dtype=pl.String))


class TextColumn:
    """Entries, best first, that are found by letters of their texts.

    >>> import polars as pl
    >>> teas = TextColumn(pl.Series(["t1", "t2"]), pl.Series(["green tea", "tea for two"]))
    >>> teas.search("tea", 5)
    [(1, 1), (2, 0)]
    """

    def __init__(self, ids: pl.Series, names: pl.Series | None = None) -> None:
        self._names = ids if names is None else names
        self._texts = ids if names is None else ids + SEPARATOR + names
        self._skipped = np.zeros(len(ids), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self._skipped)

    @property
    def nbytes(self) -> int:
        """Bytes that it keeps."""
        texts = self._texts.estimated_size() + self._names.estimated_size()
        return int(texts) + self._skipped.nbytes

    def skip(self, entry: int) -> None:
        """Find this entry no more."""
        self._skipped[entry] = True

    def is_skipped(self, entry: int) -> bool:
        """Whether it is not found any more."""
        return bool(self._skipped[entry])

    def search(self, letters: str, k: int) -> list[tuple[int, int]]:
        """Up to k entries that have the letters, which are normalized: (how, entry), best first.

        No letters: the first entries.
        """
        if not letters:
            return [(BEGINS, entry) for entry in np.flatnonzero(~self._skipped)[:k].tolist()]
        import polars as pl

        word, surplus = _BEFORE_WORD + pl.escape_regex(letters), 0
        begins: list[int] = []
        words: list[int] = []
        inside: list[int] = []
        for first in range(0, len(self), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            texts, names, open_ = self._texts[chunk], self._names[chunk], ~self._skipped[chunk]
            rows, search_inside = np.flatnonzero(open_), len(words) < k and surplus < _SURPLUS
            if search_inside:
                has = texts.str.contains(letters, literal=True).to_numpy()
                rows = np.flatnonzero(has & open_)
            if 2 * len(rows) < len(texts):
                texts, names = texts.gather(rows), names.gather(rows)
                in_chunk, rows = first + rows, np.arange(len(rows))
            else:
                in_chunk = first + np.arange(len(texts))
            begin = (texts.str.starts_with(letters) | names.str.starts_with(letters)).to_numpy()
            begins += in_chunk[rows[begin[rows]]].tolist()
            if len(begins) >= k:
                break
            if search_inside:
                rows = rows[~begin[rows]]
                in_word = texts.str.contains(word).to_numpy()[rows]
                words += in_chunk[rows[in_word]].tolist()
                others, room = in_chunk[rows[~in_word]], k - len(inside)
                inside += others[:room].tolist()
                surplus += max(0, len(others) - room)
        kinds = ((BEGINS, begins), (WORD, words), (INSIDE, inside))
        return [(how, entry) for how, entries in kinds for entry in entries][:k]


# -- what came since


class Changed(NamedTuple):
    """An entry that was changed or added. rank: among all entries, those of the model first."""

    rank: int
    id_text: str
    name: str


class Segment:
    """Changed entries in a column, which is fixed but for entries that are dropped."""

    def __init__(self, entries: dict[Id, Changed]) -> None:
        import polars as pl

        self.entries = dict(sorted(entries.items(), key=lambda one: one[1].rank))
        self.ids = list(self.entries)
        self._rows = {one: row for row, one in enumerate(self.ids)}
        _, ids, names = zip(*self.entries.values(), strict=True) if entries else ((), (), ())
        self._column = TextColumn(
            pl.Series(ids, dtype=pl.String), pl.Series(names, dtype=pl.String)
        )

    def drop(self, entry: Id) -> None:
        """Find it no more."""
        if self.entries.pop(entry, None) is not None:
            self._column.skip(self._rows[entry])

    def search(self, letters: str, k: int) -> list[tuple[int, int, Id]]:
        """(how, rank, id) of up to k, best first."""
        found = []
        for how, row in self._column.search(letters, k):
            changed = self.entries.get(self.ids[row])
            if changed is not None:  # else another thread has just dropped it
                found.append((how, changed.rank, self.ids[row]))
        return found


class ChangedEntries:
    """Changed entries by id; the newest word wins.

    Many stand in a column that is seldom made again, the newest in one that is made when they
    change.

    One thread at a time changes it; what `segments` gives may be searched by others meanwhile.
    """

    def __init__(self) -> None:
        self._many = Segment({})
        self._few: dict[Id, Changed] = {}
        self._segment: Segment | None = None

    def __contains__(self, entry: Id) -> bool:
        return self.get(entry) is not None

    def get(self, entry: Id) -> Changed | None:
        """One of them."""
        return self._few.get(entry) or self._many.entries.get(entry)

    def put(self, entry: Id, changed: Changed) -> None:
        """Add it, or change it."""
        self._many.drop(entry)
        self._few[entry] = changed
        self._segment = None

    def drop(self, entry: Id) -> None:
        """Forget it."""
        self._many.drop(entry)
        if self._few.pop(entry, None) is not None:
            self._segment = None

    def segments(self) -> tuple[Segment, ...]:
        """All entries."""
        if len(self._few) > _FEW + len(self._many.entries) // 8:
            self._many, self._few = Segment({**self._many.entries, **self._few}), {}
            self._segment = None
        if self._segment is None:
            self._segment = Segment(self._few)
        return self._many, self._segment


# -- users and items


class SearchBox(ABC):
    """Texts of one generation, made when letters are first asked for, and of what came since."""

    def __init__(self, live: LiveModel, ids: Ids) -> None:
        self._live, self._ids = live, ids
        self._changed = ChangedEntries()
        self._came = 0
        self._lock = threading.Lock()

    def find(self, letters: str, k: int) -> list[Id]:
        """See `find_ids`."""
        bare = letters.strip()
        with self._lock:
            self._catch_up()
            segments = self._changed.segments()
            written = [jsonable(self._ids.parse(one)) for one in dict.fromkeys((letters, bare))]
            exact = [one for one in written if self._is_there(one)]
        wanted = normalize_text(bare)
        if bare and not wanted:  # nothing but accents
            return exact[:k]
        rows = self._order
        found = [
            (how, rank, jsonable(self._ids[int(rows[rank])]))
            for how, rank in self._column.search(wanted, k)
        ]
        for segment in segments:
            found += segment.search(wanted, k)
        found.sort(key=lambda one: one[:2])
        return list(dict.fromkeys([*exact, *(one for _, _, one in found)]))[:k]

    @property
    def is_made(self) -> bool:
        """Whether letters were asked for."""
        return "_column" in vars(self)

    @property
    @abstractmethod
    def _order(self) -> npt.NDArray[np.integer]:
        """Rows of the model, the best first."""

    @abstractmethod
    def _rank(self, entry: Id) -> int:
        """Where an id stands in that order; -1 where the model does not have it."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Take in what happened since the last time."""

    def _names(self) -> Text | None:
        return None

    @lazy_property
    def _column(self) -> TextColumn:
        """Texts of the model."""
        names = self._names()
        texts = [normalized_column(self._ids, self._order)]
        if names is not None:
            texts.append(normalized_column(names, self._order))
        return TextColumn(*texts)

    def _is_there(self, entry: Id) -> bool:
        if entry in self._changed:
            return True
        rank = self._rank(entry)
        return rank >= 0 and not self._column.is_skipped(rank)

    def _put(self, entry: Id, name: str | None = None) -> None:
        """It is found by these letters from now on."""
        old, rank = self._changed.get(entry), self._rank(entry)
        if old is not None:
            rank = old.rank
        elif rank >= 0:
            self._column.skip(rank)
        else:
            self._came += 1
            rank = len(self._ids) + self._came
        texts = normalize_text(str(entry)), normalize_text(name or "")
        self._changed.put(entry, Changed(rank, *texts))

    def _drop(self, entry: Id) -> None:
        """It is not found any more."""
        rank = self._rank(entry)
        if rank >= 0:
            self._column.skip(rank)
        self._changed.drop(entry)


class ItemBox(SearchBox):
    """Items of the model, with what was said of them since; and those that events or PUT named."""

    def __init__(self, live: LiveModel) -> None:
        super().__init__(live, live.items)
        self._version = 0
        self._cold: list[Id] = []

    @property
    def _order(self) -> npt.NDArray[np.integer]:
        return self._live.item_order

    def _rank(self, entry: Id) -> int:
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
        elif (info is not None and info.name is not None) or not self._is_of_the_model(item):
            self._put(item, self._live.item_names([row], [item])[0])

    def _is_of_the_model(self, item: Id) -> bool:
        """Whether it is found by the texts that the model has of it."""
        return item not in self._changed and self._is_there(item)


class UserBox(SearchBox):
    """Users of the model that were not erased, and those who came since."""

    def __init__(self, live: LiveModel) -> None:
        super().__init__(live, live.users)
        self._erased: dict[Id, int] = {}
        self._recent: list[Id] = []

    @property
    def _order(self) -> npt.NDArray[np.integer]:
        return self._live.user_order

    def _rank(self, entry: Id) -> int:
        row = self._live.user_row(entry)
        return int(self._live.user_rank[row]) if row >= 0 else -1

    def _catch_up(self) -> None:
        erased = dict(self._live.erased)
        gone = {one for one, seq in erased.items() if self._erased.get(one) != seq}
        for user in gone:
            row = self._ids.find(self._ids.parse(str(user)))
            if row >= 0 and self._live.user_row(user) < 0:
                self._column.skip(int(self._live.user_rank[row]))
            self._changed.drop(user)
        self._erased = erased
        old = [one for one in self._recent if one not in gone] if gone else self._recent
        self._recent = self._live.recent.users()
        for user in _added(self._recent, old):
            self._changed.drop(user)
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


# -- what is asked for

_BOXES: dict[Kind, type[ItemBox] | type[UserBox]] = {"user": UserBox, "item": ItemBox}
_LOOKED_AT = 200
"""Ids that are compared: the first that `find_ids` gives for a part of the letters."""
_SHORTEST = 3
_BEGINNINGS = (4, 3, 2)
"""Letters at the beginning of a word that are taken to be right: as many as lead to something."""
_ALIKE = 0.75
_WORD = re.compile(r"\w+")


def find_ids(live: LiveModel, kind: Kind, letters: str, k: int) -> list[Id]:
    """Up to k ids that have these letters in them, or in the item's name.

    First the id that is exactly so; then what begins with them, then what has a word that does,
    then the rest; each by popularity (users: who has most items), what came after the model at
    the end.
    Neither case nor accents count, nor spaces around the letters. No letters: the most popular.
    """
    return search_box(live, kind).find(letters, k)


def search_box(live: LiveModel, kind: Kind) -> SearchBox:
    """The search box of a generation; threads that come at once share one."""
    box: SearchBox = live.search_boxes.get(kind) or live.search_boxes.setdefault(
        kind, _BOXES[kind](live)
    )
    return box


def prepare_boxes(live: LiveModel, before: LiveModel) -> None:
    """Make the columns that were asked for of the generation before, so that no request waits."""
    for kind in _BOXES:
        if kind in before.search_boxes and before.search_boxes[kind].is_made:
            search_box(live, kind).find("", 1)


def fuzzy_ids(live: LiveModel, kind: Kind, letters: str, k: int) -> list[Id]:
    """Up to k ids that `find_ids` does not find by these letters: those that have all the words in
    any order; of one word, those that are spelled alike, or have a word that is."""
    words = normalize_text(letters).split()
    longest = max(words, key=len, default="")
    if len(longest) < _SHORTEST:
        return []
    if len(words) > 1:
        texts = _texts(live, kind, longest)
        return [one for one, text in texts if all(word in "\n".join(text) for word in words)][:k]
    for size in _BEGINNINGS:
        whose: dict[str, list[Id]] = defaultdict(list)
        for one, written in _texts(live, kind, longest[:size]):
            for word in {*written, *_WORD.findall("\n".join(written))}:
                whose[word].append(one)
        alike = difflib.get_close_matches(longest, whose, k, _ALIKE)
        if alike:
            return list(dict.fromkeys(one for text in alike for one in whose[text]))[:k]
    return []


def _texts(live: LiveModel, kind: Kind, letters: str) -> list[tuple[Id, list[str]]]:
    """Ids that have these letters, each as it is written and by its name."""
    ids = find_ids(live, kind, letters, _LOOKED_AT)
    names: dict[Id, str | None] = {}
    if kind == "item":
        said = {one: live.catalogue.get(one) for one in ids}
        names = {one: info.name for one, info in said.items() if info is not None}
        known = [one for one in ids if live.item_row(one) >= 0]
        rows = [live.item_row(one) for one in known]
        names |= dict(zip(known, live.item_names(rows, known), strict=True))
    return [
        (one, [normalize_text(str(one)), normalize_text(names.get(one) or str(one))]) for one in ids
    ]
