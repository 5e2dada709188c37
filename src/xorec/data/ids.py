"""Ids: the raw ids that people use, and the rows that arrays use.

The type that comes in goes out again. Integers live in one int64 array; every other kind lives
in a `Text` with a codec that turns an id into a string and back. Look-up is by an `IdTable`, which
a model file keeps, so that a memory-mapped model answers at once, without building a dictionary of
a million ids; integers that ascend are found by bisection.
"""

from __future__ import annotations

import datetime
import math
import re
import uuid
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.text import IdTable, Text, not_unicode, offsets_of, quick_view

if TYPE_CHECKING:
    import polars as pl


Rows = npt.NDArray[np.int64]

_INT64 = range(-(2**63), 2**63)
LONGEST_INT = 4096
"""Bits of a whole number that is an id."""

# kind: (the exact Python type, id to string, string to id)
_CODECS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "str": (str, str, str),
    "bool": (bool, str, lambda text: text == "True"),
    "int": (int, str, int),
    "float": (float, lambda value: repr(float(value) + 0.0), float),
    "bytes": (bytes, lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "uuid": (uuid.UUID, str, uuid.UUID),
}


class Ids:
    """Distinct raw ids; row `r` belongs to id `ids[r]`.

    kind: "int64" (values in an array) or a codec's name (values in a `Text`). table: made when it
    is first needed, where it is None.
    """

    def __init__(
        self, kind: str, values: npt.NDArray[np.int64] | Text, table: IdTable | None = None
    ) -> None:
        if kind != "int64" and kind not in _CODECS:
            raise DataError(f"ids of kind {kind!r} are not known to this version of xorec.")
        self.kind = kind
        self.values = values
        if table is not None:
            vars(self)["table"] = table  # what the cached property would make

    @classmethod
    def of(cls, raw: Iterable[Hashable]) -> Ids:
        """Ids from distinct Python values, kept in their order."""
        values: list[Any] = list(raw)
        kind = _kind_of(values)
        if kind == "str" and (wrong := not_unicode(values)) is not None:
            what = f"the id {quoted(wrong)} has half of a surrogate pair, which is no text"
            raise DataError(f"{what}: mend it.")
        if len(set(values)) != len(values):
            raise DataError("the ids are not distinct: give each id once.")
        if kind == "int64":
            return cls(kind, np.array(values, dtype=np.int64))
        return cls(kind, Text.pack(map(_CODECS[kind][1], values)))

    @classmethod
    def sorted(cls, raw: Iterable[Hashable]) -> Ids:
        """Ids from Python values in any order, some of them more than once: sorted, each once."""
        distinct = list(set(raw))
        _kind_of(distinct)
        return cls.of(sorted(distinct))  # type: ignore[type-var]

    @classmethod
    def numbered(cls, raw: Sequence[Hashable]) -> tuple[Ids, list[int]]:
        """The ids of Python values as `sorted` has them, and the row of each value."""
        ids = cls.sorted(raw)
        row_of = {value: row for row, value in enumerate(ids)}
        return ids, [row_of[value] for value in raw]

    @classmethod
    def from_series(cls, series: pl.Series) -> Ids:
        """Ids from a polars series of distinct values, kept in their order."""
        import polars as pl

        if series.dtype.is_integer() and series.dtype not in (pl.UInt64, pl.Int128):
            return cls("int64", series.to_numpy().astype(np.int64, copy=False))
        if series.dtype == pl.String:
            offsets = offsets_of(series.str.len_bytes().to_numpy())
            joined = series.str.join("").item() if len(series) else ""
            return cls("str", Text(np.frombuffer(joined.encode(), dtype=np.uint8), offsets))
        return cls.of(series.to_list())

    def __repr__(self) -> str:
        first = ", ".join(repr(one) for one in self.take(range(min(3, len(self)))))
        return f"Ids({len(self):,} {self.type_name}: {first}{', ...' if len(self) > 3 else ''})"

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int | slice) -> Any:
        if isinstance(row, slice):
            return self.take(range(len(self))[row])
        if isinstance(self.values, Text):
            return self._decoded([self.values[row]])[0]
        return int(self.values[row])

    def _decoded(self, strings: list[str]) -> list[Any]:
        decode = _CODECS[self.kind][2]
        try:
            return [decode(text) for text in strings]
        except ValueError as error:  # a file may say so
            raise DataError(f"the ids are said to be {self.kind} and are not: {error}.") from None

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Ids) or self.kind != other.kind:
            return False
        return all(map(np.array_equal, self.arrays, other.arrays))

    __hash__ = None  # type: ignore[assignment]

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that hold the ids: (values), or (data, offsets) of a `Text`."""
        values = self.values
        return (values.data, values.offsets) if isinstance(values, Text) else (values,)

    def take(self, rows: npt.NDArray[np.integer] | Sequence[int]) -> list[Any]:
        """The raw ids at `rows`."""
        rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
        if not isinstance(self.values, Text):
            return [int(self.values[row]) for row in rows]
        strings = self.values.strings(rows)
        return strings if self.kind == "str" else self._decoded(strings)

    def to_numpy(self) -> npt.NDArray[Any]:
        """The raw ids as an array: int64, or Python objects.

        >>> Ids.of(["tea", "jam"]).to_numpy()
        array(['tea', 'jam'], dtype=object)
        """
        if not isinstance(self.values, Text):
            return self.values
        made = np.empty(len(self), dtype=object)
        made[:] = self.take(range(len(self)))
        return made

    @property
    def type_name(self) -> str:
        """The type of the ids, for messages."""
        return {"int64": "integers", "int": "integers", "str": "strings"}.get(self.kind, self.kind)

    def select(self, rows: npt.NDArray[np.integer]) -> Ids:
        """The ids at `rows`, as Ids."""
        if isinstance(self.values, Text):
            return Ids(self.kind, self.values.take(rows))
        return Ids(self.kind, self.values[rows])

    def find(self, raw: Hashable) -> int:
        """The row of a raw id, or -1."""
        key = self._key(raw)
        return -1 if key is None else self._find(key)

    def find_many(self, raw: Iterable[Hashable]) -> Rows:
        """The rows of raw ids, -1 where unknown."""
        if isinstance(raw, Ids) and raw.kind == self.kind:
            return self._find_ids(raw)
        key_of, find = self._key, self._find
        rows = [-1 if (key := key_of(one)) is None else find(key) for one in raw]
        return np.array(rows, dtype=np.int64)

    def _find_ids(self, others: Ids) -> Rows:
        """`find_many` of ids of the same kind: all at once."""
        values, keys = self.values, others.values
        if self.table is not None:
            return self.table.find_all(values, keys)
        if not len(self):
            return np.full(len(others), -1)
        places = np.searchsorted(np.asarray(values), np.asarray(keys)).clip(max=len(self) - 1)
        return np.where(np.asarray(values)[places] == np.asarray(keys), places, -1)

    def hashes(self, seed: int = 0) -> npt.NDArray[np.uint64]:
        """A seeded 64-bit hash of every id, which depends on the id alone, not on its row."""
        from xorec.core.rng import hash_integers, hash_text

        if isinstance(self.values, Text):
            hashes = hash_text(self.values.data, self.values.offsets, seed)
        else:
            hashes = hash_integers(self.values, seed)
        return np.asarray(hashes, dtype=np.uint64)

    def parse(self, text: str) -> Any:
        """The id that a person typed as `text`, in the type of these ids."""
        try:
            return int(text) if self.kind == "int64" else _CODECS[self.kind][2](text)
        except ValueError:
            return text

    @cached_property
    def table(self) -> IdTable | None:
        """The row of each id; None where integers ascend."""
        values = self.values
        if not isinstance(values, Text) and (values[1:] > values[:-1]).all():
            return None
        return IdTable.of(values)

    @cached_property
    def _find(self) -> Callable[[Any], int]:
        """The row of a key, or -1."""
        values, table = self.values, self.table
        if isinstance(values, Text):
            assert table is not None
            return table.finder_of_text(values)
        if table is not None:
            return table.finder_of_integers(values)
        every = quick_view(values)

        def find(key: int) -> int:
            row = bisect_left(every, key)
            return row if row < len(every) and every[row] == key else -1

        return find

    def __getstate__(self) -> dict[str, Any]:
        """Without the views of memory, which no pickle can hold."""
        return {name: value for name, value in vars(self).items() if name != "_find"}

    def stored(self, raw: Hashable) -> int | str | None:
        """A raw id as a column of a database holds it: an integer or text; None: another type.

        >>> Ids.of([datetime.date(2024, 2, 29)]).stored(datetime.date(2023, 1, 31))
        '2023-01-31'
        """
        key = self._key(raw)
        return key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else key

    def _key(self, raw: Hashable) -> Any:
        """The key of a look-up: the integer itself, or the encoded bytes; None: another type."""
        if self.kind == "str":  # first, for it is what most ids are
            return _utf8(raw) if isinstance(raw, str) else None
        if self.kind in ("int64", "int"):
            if isinstance(raw, (bool, np.bool_)) or not isinstance(raw, (int, np.integer)):
                return None
            raw = int(raw)
            if self.kind == "int64":
                return raw
            return str(raw).encode() if raw.bit_length() <= LONGEST_INT else b""
        exact, encode, _ = _CODECS[self.kind]
        if isinstance(raw, np.generic):
            raw = raw.item()
        if self.kind == "float" and isinstance(raw, int) and not isinstance(raw, bool):
            if abs(raw) >= 2**53:
                return None
            raw = float(raw)
        return _utf8(encode(raw)) if type(raw) is exact else None


def _utf8(text: str) -> bytes | None:
    """A string as a `Text` holds it; None for half a surrogate pair, which no id has."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _kind_of(values: list[Any]) -> str:
    """The one kind of all values; mixed and unknown kinds are refused."""
    for number, value in enumerate(values, start=1):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise DataError(f"id number {number} is empty ({value!r}): drop that row.")
    types = {type(v.item()) if isinstance(v, np.generic) else type(v) for v in values}
    if int in types and any(
        int(v).bit_length() > LONGEST_INT for v in values if isinstance(v, int)
    ):
        raise DataError(f"a whole number of more than {LONGEST_INT:,} bits is no id.")
    if types == {int}:
        return "int64" if all(int(v) in _INT64 for v in values) else "int"
    for kind, (exact, _, _) in _CODECS.items():
        if types == {exact}:
            return kind
    if not types:
        return "str"
    if types == {int, float}:
        mixed_up = next((v for v in values if isinstance(v, int) and abs(v) >= 2**53), None)
        if mixed_up is not None:
            raise DataError(
                f"the id {mixed_up} stands among numbers with fractions, where it would be mixed "
                "up with its neighbours: give all ids as integers, or as text."
            )
        return "float"
    names = ", ".join(sorted(t.__name__ for t in types))
    raise DataError(
        f"ids of type {names} cannot be kept: use one type for all "
        f"({', '.join(_CODECS)}), for example strings."
    )


NEIGHBOURS = 32
"""Ids that are compared with an unknown one, on either side of where it would be in the order."""
LONGEST_COMPARED = 100
"""Characters of an id that is compared letter by letter, at most."""


def near_id(ids: Ids, raw: Hashable) -> Any:
    """The id that differs from `raw` by type, blanks, case or one slip; None if none does.

    Letters are compared with the ids beside it in alphabetical order (ids that an update has added
    are behind the others, and may not be found), so the work is the same for any number of ids.
    Digits are never guessed.

    >>> shop = Ids.of(["Earl Grey", "SKU 40, large", "milk", "tea 4711"])
    >>> [near_id(shop, raw) for raw in ("MILK", " milk", "Earl Gray", "SKU 40", "tea 4712", 7)]
    ['milk', 'milk', 'Earl Grey', 'SKU 40, large', None, None]
    """
    text = str(raw).strip()
    typed = ids.parse(text)
    if ids.kind != "bool" and ids.find(typed) >= 0:
        return typed
    if not isinstance(raw, str) or not isinstance(ids.values, Text):
        return None
    for written in (text.lower(), text.upper(), text.title(), text.capitalize()):
        if ids.find(written) >= 0:
            return written
    return _near_in_order(ids.values, text) if ids.kind == "str" and text else None


def _near_in_order(values: Text, text: str) -> str | None:
    """Of the strings beside `text` in the order: one that it begins, or that is one slip away."""
    if not 2 < len(text) <= LONGEST_COMPARED:
        return None
    key = text.encode("utf-8", "surrogatepass")
    row = bisect_left(range(len(values)), key, key=values.raw)
    around = values.strings(range(max(row - NEIGHBOURS, 0), min(row + NEIGHBOURS, len(values))))
    around = [one for one in around if len(one) <= LONGEST_COMPARED]
    digits = re.findall(r"\d+", text)
    alike = [one for one in around if re.findall(r"\d+", one) == digits]
    begun = (one for one in alike if one.startswith(text))
    return next(begun, None) or next((one for one in alike if _is_slip(one, text)), None)


def _is_slip(one: str, other: str) -> bool:
    """Whether one letter is too many, missing or another one, or two are swapped."""
    other, one = sorted((one, other), key=len)
    pairs = enumerate(zip(one, other, strict=False))
    at = next((at for at, (a, b) in pairs if a != b), len(other))
    rest, others = one[at:], other[at:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return swapped or rest[1:] in (others, others[1:])
