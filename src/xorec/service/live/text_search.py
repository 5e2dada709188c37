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
from operator import itemgetter
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

    @property
    def nbytes(self) -> int:
        texts = self._texts.estimated_size() + self._names.estimated_size()
        return int(texts) + self._skipped.nbytes

    def skip(self, entry: int) -> None:
        self._skipped[entry] = True

    def is_skipped(self, entry: int) -> bool:
        return bool(self._skipped[entry])

    def search(self, letters: str, k: int) -> list[tuple[int, int]]:
        """Up to k entries that have the letters, which are normalized: (how, entry), best first.

        No letters: the first entries.
        """
        if not letters:
            return [(BEGINS, entry) for entry in np.flatnonzero(~self._skipped)[:k].tolist()]
        import polars as pl

        word = _BEFORE_WORD + pl.escape_regex(letters)
        begins, words, inside = list[int](), list[int](), list[int]()
        surplus = 0
        for first in range(0, len(self._texts), _CHUNK):
            chunk = slice(first, first + _CHUNK)
            texts, names, open_ = self._texts[chunk], self._names[chunk], ~self._skipped[chunk]
            rows, anywhere = np.arange(len(texts)), len(words) < k and surplus < _SURPLUS
            if anywhere:
                has = texts.str.contains(letters, literal=True).to_numpy()
                rows = np.flatnonzero(has & open_)
                texts, names, open_ = texts.gather(rows), names.gather(rows), open_[rows]
            begin = (texts.str.starts_with(letters) | names.str.starts_with(letters)).to_numpy()
            begins += (first + rows[begin & open_]).tolist()
            if len(begins) >= k:
                break
            if anywhere:
                in_word = ~begin & texts.str.contains(word).to_numpy()
                words += (first + rows[in_word]).tolist()
                others = first + rows[~(begin | in_word)]
                inside += others[: k - len(inside)].tolist()
                surplus += len(others)
        kinds = ((BEGINS, begins), (WORD, words), (INSIDE, inside))
        return [(how, entry) for how, entries in kinds for entry in entries][:k]


# -- users and items


class Changed(NamedTuple):
    """An entry that was changed or added. rank: among all entries, those of the model first."""

    rank: int
    entry: Id
    id_text: str
    name: str


class SearchBox(ABC):
    """Texts of one generation, made when letters are first asked for, and of what came since.

    What came since stands in a second column, which is made again after a change.
    """

    def __init__(self, live: LiveModel, ids: Ids) -> None:
        self._live, self._ids = live, ids
        self._changed: dict[Id, Changed] = {}
        self._since: tuple[list[Changed], TextColumn] | None = None
        self._came = len(ids)
        self._lock = threading.Lock()

    def find(self, letters: str, k: int) -> list[Id]:
        """See `find_ids`."""
        bare = letters.strip()
        with self._lock:
            self._catch_up()
            changed, since = self._since = self._since or self._made_since()
            written = [jsonable(self._ids.parse(one)) for one in dict.fromkeys((letters, bare))]
            exact = [one for one in written if self._is_there(one)]
        wanted = normalize_text(bare)
        if bare and not wanted:  # nothing but accents
            return exact[:k]
        found: list[tuple[int, int, Id]] = [
            (how, changed[row].rank, changed[row].entry) for how, row in since.search(wanted, k)
        ]
        for how, rank in self._column.search(wanted, k):
            found.append((how, rank, jsonable(self._ids[int(self._order[rank])])))
        found.sort(key=lambda one: one[:2])
        return list(dict.fromkeys([*exact, *(one for _, _, one in found)]))[:k]

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
        texts = [one for one in (self._ids, self._names()) if one is not None]
        return TextColumn(*(normalized_column(one, self._order) for one in texts))

    def _made_since(self) -> tuple[list[Changed], TextColumn]:
        import polars as pl

        entries = sorted(self._changed.values(), key=itemgetter(0))
        texts = [list(map(itemgetter(at), entries)) for at in (2, 3)]
        return entries, TextColumn(*(pl.Series(one, dtype=pl.String) for one in texts))

    def _is_there(self, entry: Id) -> bool:
        rank = self._rank(entry)
        return entry in self._changed or (rank >= 0 and not self._column.is_skipped(rank))

    def _put(self, entry: Id, name: str | None = None) -> None:
        """It is found by these letters from now on."""
        rank = self._drop(entry)
        if rank < 0:
            self._came += 1
            rank = self._came
        texts = normalize_text(str(entry)), normalize_text(name or "")
        self._changed[entry] = Changed(rank, entry, *texts)

    def _drop(self, entry: Id) -> int:
        """It is not found any more; its rank, or -1."""
        rank, old = self._rank(entry), self._changed.pop(entry, None)
        self._since = None
        if rank >= 0:
            self._column.skip(rank)
        return rank if old is None else old.rank


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
        info, row = self._live.catalogue.get(item), self._live.item_row(item)
        is_there = row >= 0 or item in self._live.cold if info is None else not info.deleted
        if not is_there:
            self._drop(item)
        elif row < 0:
            self._put(item, None if info is None else info.name)
        elif (info and info.name is not None) or item in self._changed or not self._is_there(item):
            self._put(item, self._live.item_names([row], [item])[0])


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
        self._erased = erased
        old = [one for one in self._recent if one not in gone]
        self._recent = self._live.recent.users()
        for user in (*gone, *_added(self._recent, old)):
            if self._changed.pop(user, None) is not None:
                self._since = None
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
_MOST_MEANT = 5
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


def find_or_guess(live: LiveModel, kind: Kind, letters: str, k: int) -> tuple[list[Id], list[Id]]:
    """`find_ids`; and, where it finds nothing, a few ids that may have been meant."""
    found = find_ids(live, kind, letters, k)
    return found, [] if found else fuzzy_ids(live, kind, letters, min(k, _MOST_MEANT))


def search_box(live: LiveModel, kind: Kind) -> SearchBox:
    """The search box of a generation; threads that come at once share one."""
    box: SearchBox = live.search_boxes.get(kind) or live.search_boxes.setdefault(
        kind, _BOXES[kind](live)
    )
    return box


def prepare_boxes(live: LiveModel, before: LiveModel) -> None:
    """Make the columns that were asked for of the generation before, so that no request waits."""
    for kind in _BOXES:
        if kind in before.search_boxes:
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
        close = difflib.get_close_matches(longest, whose, k, _ALIKE)
        if close:
            return list(dict.fromkeys(one for text in close for one in whose[text]))[:k]
    return []


def _texts(live: LiveModel, kind: Kind, letters: str) -> list[tuple[Id, list[str]]]:
    """Ids that have these letters, each as it is written and by its name."""
    ids = find_ids(live, kind, letters, _LOOKED_AT)
    names: list[str | None] = [None] * len(ids)
    if kind == "item":
        names = [live.name_of(one) for one in ids]
    return [
        (one, [normalize_text(str(one)), normalize_text(name or str(one))])
        for one, name in zip(ids, names, strict=True)
    ]
