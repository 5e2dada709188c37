"""The contract of a format: how data is recognised, and how it becomes a Source.

A Source is a table with named columns that has not been read yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.io.columns import Columns
from xorec.data.io.data_file import DataFile

Wanted = Mapping[str, str | None]
"""The name of the column asked for, by role; None where it is to be guessed, "" for none."""
LONGEST_NAME = 1000
"""Characters of a column's name."""


@dataclass(frozen=True)
class Source:
    """A table that has not been read yet.

    name: for messages. format: the name of its file format. text: values come as text,
    so whole-number ids become integers, except in the columns `quoted`. positions: roles of the
    columns where there is no header. sequences: columns of words divided by blanks. known_ids:
    the ids behind columns that hold row numbers already. scan: a new frame of a CSV file with
    these columns parsed as these types, which is quicker than to make text of them. chosen: the
    columns in use, where there is nothing left to choose. files: the frame reads from them, so
    they live as long. text_file: it comes from text, where no id has a zero byte.
    part_files: the files that the column "split" was made of. stream: of a database, its columns
    by their roles, batch by batch; the frame then has their names alone. since: the rows of earlier
    times are left out.
    """

    name: str
    frame: pl.LazyFrame
    columns: tuple[str, ...]
    format: str = ""
    text: bool = False
    quoted: frozenset[str] = frozenset()
    positions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sequences: frozenset[str] = frozenset()
    known_ids: Mapping[str, Ids] = field(default_factory=dict)
    scan: Callable[[Mapping[str, Any]], pl.LazyFrame] | None = None
    chosen: Columns | None = None
    files: tuple[DataFile, ...] = ()
    text_file: bool = False
    part_files: tuple[str, ...] = ()
    stream: Callable[[Mapping[str, str]], Iterator[pl.DataFrame]] | None = None
    since: int | None = None

    def require_short_names(self) -> None:
        """Refuse a column whose name is too long."""
        longest = max(self.columns, key=len, default="")
        if len(longest) > LONGEST_NAME:
            raise DataError(
                f"{self.name} has a column whose name has {len(longest):,} characters, "
                f"{quoted(longest)}: give it a name of at most {LONGEST_NAME:,}."
            )


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    title: for the documentation. endings: of names that mean it. recognises: whether the
    content of a file whose name says nothing is of this kind; None: it goes by name alone.
    is_text: zero bytes are an error.
    """

    name: str
    title: str
    open: Callable[[DataFile], Source]
    endings: tuple[str, ...] = ()
    recognises: Callable[[DataFile], bool] | None = None
    is_text: bool = True


@dataclass(frozen=True)
class ObjectFormat:
    """A kind of Python object that holds interactions; `recognises` is asked before `open`.

    name: for messages. title: for the documentation.
    """

    name: str
    title: str
    recognises: Callable[[Any], bool]
    open: Callable[[Any, Wanted], Source]


class NotUtf8Error(DataError):
    """Text in another encoding."""


_WAYS_OUT = {
    "more fields": "some line has more fields than the first; mend it or give separator",
    "cannot parse": "a column mixes kinds of values; use one kind (for example strings) for all",
    "": "the file is damaged or of another format; say which with format",
}
"""Words of an error of polars, and what to do."""


@contextmanager
def polars_errors(name: str) -> Iterator[None]:
    """Turn an error of polars, its panics too, into a DataError; name: what was being read."""
    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataError(f"{name} is empty: give a file with interactions.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        if "utf-8" in reason.lower() or "utf8" in reason.lower():
            raise NotUtf8Error(
                f"{name} is not UTF-8 text: convert it, for example: iconv -f latin1 -t utf-8"
            ) from None
        way_out = next(way_out for words, way_out in _WAYS_OUT.items() if words in reason)
        raise DataError(f"{name} cannot be read ({reason}): {way_out}.") from None
