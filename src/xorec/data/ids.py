"""Ids: the raw ids that people use, and the rows that arrays use.

Whatever type comes in goes out again. Integers live in one int64 array; every other kind lives
in a `Text` with a codec that turns an id into a string and back. Look-up is a binary search, so a
memory-mapped model answers at once, without building a dictionary of a million ids.
"""

from __future__ import annotations

import datetime
import math
import uuid
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.data.text import Text

if TYPE_CHECKING:
    import polars as pl

Rows = npt.NDArray[np.int64]

_INT64 = range(-(2**63), 2**63)

# kind: (the exact Python type, id to string, string to id)
_CODECS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "str": (str, str, str),
    "bool": (bool, str, lambda text: text == "True"),
    "int": (int, str, int),
    "float": (float, repr, float),
    "bytes": (bytes, lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "uuid": (uuid.UUID, str, uuid.UUID),
}


class Ids:
    """Distinct raw ids; row `r` belongs to id `ids[r]`.

    kind: "int64" (values in an array) or a codec's name (values in a `Text`).
    """

    def __init__(self, kind: str, values: npt.NDArray[np.int64] | Text) -> None:
        if kind != "int64" and kind not in _CODECS:
            raise DataError(f"ids of kind {kind!r} are not known to this version of xorec.")
        self.kind = kind
        self.values = values

    @classmethod
    def of(cls, raw: Iterable[Hashable]) -> Ids:
        """Ids from distinct Python values, kept in their order."""
        values = list(raw)
        kind = _kind_of(values)
        if kind == "int64":
            ids = cls(kind, np.array(values, dtype=np.int64))
        else:
            encode = _CODECS[kind][1]
            ids = cls(kind, Text.pack(encode(value) for value in values))
        if len(set(values)) != len(values):
            raise DataError("the ids are not distinct: give each id once.")
        return ids

    @classmethod
    def sorted(cls, raw: Iterable[Hashable]) -> Ids:
        """Ids from Python values in any order, some of them more than once: sorted, each once."""
        distinct = list(set(raw))
        _kind_of(distinct)
        return cls.of(sorted(distinct))  # type: ignore[type-var]

    @classmethod
    def from_series(cls, series: pl.Series) -> Ids:
        """Ids from a polars series of distinct values, kept in their order."""
        import polars as pl

        if series.dtype.is_integer() and series.dtype not in (pl.UInt64, pl.Int128):
            return cls("int64", series.to_numpy().astype(np.int64, copy=False))
        if series.dtype == pl.String:
            lengths = series.str.len_bytes().to_numpy()
            offsets = np.zeros(len(series) + 1, dtype=np.int64)
            np.cumsum(lengths, out=offsets[1:])
            joined = series.str.join("").item() if len(series) else ""
            return cls("str", Text(np.frombuffer(joined.encode(), dtype=np.uint8), offsets))
        return cls.of(series.to_list())

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, row: int) -> Any:
        if isinstance(self.values, Text):
            text = self.values[row]
            try:
                return _CODECS[self.kind][2](text)
            except ValueError:  # a file may say so
                raise DataError(f"id number {row + 1} is {text[:80]!r}: no {self.kind}.") from None
        return int(self.values[row])

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids) or self.kind != other.kind:
            return False
        if isinstance(self.values, Text) and isinstance(other.values, Text):
            return np.array_equal(self.values.offsets, other.values.offsets) and np.array_equal(
                self.values.data, other.values.data
            )
        return np.array_equal(np.asarray(self.values), np.asarray(other.values))

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: npt.NDArray[np.integer] | Sequence[int]) -> list[Any]:
        """The raw ids at `rows`."""
        return [self[int(row)] for row in rows]

    def select(self, rows: npt.NDArray[np.integer]) -> Ids:
        """The ids at `rows`, as Ids."""
        if isinstance(self.values, Text):
            return Ids(self.kind, self.values.take(rows))
        return Ids(self.kind, self.values[rows])

    def find(self, raw: Hashable) -> int:
        """The row of a raw id, or -1. Binary search: no dictionary is built."""
        key = self._key(raw)
        if key is None:
            return -1
        order = self._order
        place = bisect_left(range(len(self)), key, key=lambda at: self._key_at(int(order[at])))
        row = int(order[place]) if place < len(self) else -1
        return row if row >= 0 and self._key_at(row) == key else -1

    def find_many(self, raw: Iterable[Hashable]) -> Rows:
        """The rows of raw ids, -1 where unknown."""
        wanted = list(raw)
        if len(wanted) < 64:
            return np.array([self.find(one) for one in wanted], dtype=np.int64)
        rows = self._rows_by_key
        return np.array([rows.get(self._key(one), -1) for one in wanted], dtype=np.int64)

    def hashes(self, seed: int = 0) -> npt.NDArray[np.uint64]:
        """A seeded 64-bit hash of every id: it hangs on the id alone, not on its row."""
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
    def _order(self) -> npt.NDArray[np.int64]:
        if isinstance(self.values, Text):
            if self.values.is_ascending():
                return np.arange(len(self))
            keys = [self.values.raw(row) for row in range(len(self))]
            return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        return np.argsort(self.values, kind="stable")

    @cached_property
    def _rows_by_key(self) -> dict[Any, int]:
        return {self._key_at(row): row for row in range(len(self))}

    def _key_at(self, row: int) -> Any:
        return self.values.raw(row) if isinstance(self.values, Text) else int(self.values[row])

    def _key(self, raw: Hashable) -> Any:
        """What is compared: the integer itself, or the encoded bytes; None if of another type."""
        if self.kind in ("int64", "int"):
            if isinstance(raw, (bool, np.bool_)) or not isinstance(raw, (int, np.integer)):
                return None
            return int(raw) if self.kind == "int64" else str(int(raw)).encode()
        exact, encode, _ = _CODECS[self.kind]
        if isinstance(raw, np.generic):
            raw = raw.item()
        if self.kind == "float" and isinstance(raw, int) and not isinstance(raw, bool):
            raw = float(raw)
        if type(raw) is not exact and not (exact is str and isinstance(raw, str)):
            return None
        return encode(raw).encode("utf-8", "surrogateescape")


def _kind_of(values: list[Any]) -> str:
    """The one kind of all values; mixed or unhashable kinds are refused."""
    for place, value in enumerate(values):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise DataError(f"id number {place + 1} is empty ({value!r}): drop that row.")
    types = {type(v.item()) if isinstance(v, np.generic) else type(v) for v in values}
    if types == {int}:
        return "int64" if all(int(v) in _INT64 for v in values) else "int"
    for kind, (exact, _, _) in _CODECS.items():
        if types == {exact}:
            return kind
    if not types:
        return "str"
    if types == {int, float}:
        return "float"
    names = ", ".join(sorted(t.__name__ for t in types))
    raise DataError(
        f"ids of type {names} cannot be kept: use one type for all "
        f"({', '.join(_CODECS)}), for example strings."
    )
