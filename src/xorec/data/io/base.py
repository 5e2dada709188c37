"""What a format is: its name, how data of this kind is recognised, how it becomes a Source.

A Source is whatever holds interactions, as one thing: a table with named columns, not read yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.io.columns import Columns
from xorec.data.io.content import Content

if TYPE_CHECKING:
    import polars as pl


Wanted = Mapping[str, str | None]
"""The name of the column asked for, by role; None where it is to be guessed, "" for none."""

_HEAD = 1 << 16
LONGEST_NAME = 1000
"""Characters of a column's name."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Source:
    """A table that has not been read yet.

    name: what messages call it. format: the name of its file format. text: values come as text,
    so whole-number ids become integers, except in the columns `quoted`. positions: roles of the
    columns where there is no header. sequences: columns of words divided by blanks. known_ids:
    the ids behind columns that hold row numbers already. scan: the frame of a CSV file anew,
    these columns parsed as these types, which is quicker than to make text of them. chosen: the
    columns in use, where there is nothing left to choose. contents: what the frame reads from,
    which must live as long. text_file: it comes from text, where no id has a zero byte.
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
    contents: tuple[Content, ...] = ()
    text_file: bool = False
    part_files: tuple[str, ...] = ()
    stream: Callable[[Mapping[str, str]], Iterator[pl.DataFrame]] | None = None
    since: int | None = None


@dataclass(frozen=True)
class Layout:
    """How the text of a file is laid out, as far as the caller says.

    separator: " " stands for any run of blanks. named: the columns asked for by name; a first
    line that has one of them is a header.
    """

    separator: str | None = None
    has_header: bool | None = None
    named: tuple[str, ...] = ()


def ending_of(path: Path) -> str:
    """The ending of a name, in lower case, without .gz.

    >>> ending_of(Path("Orders.CSV.gz"))
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


@dataclass(frozen=True)
class DataFile:
    """A file that is about to be opened."""

    path: Path
    content: Content
    layout: Layout = Layout()

    @property
    def place(self) -> Path:
        """Where polars reads it from: a plain file."""
        return self.content.place

    @property
    def ending(self) -> str:
        """Of the name: see `ending_of`."""
        return ending_of(self.path)

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB, decompressed."""
        return self.content.head(_HEAD)

    def require_something(self) -> None:
        """Refuse an empty file."""
        if not self.head.strip():
            raise DataError(f"{self.path} is empty: give a file with interactions.")

    def require_text(self) -> None:
        """Refuse what cannot be text, or has lines that are no lines."""
        head = self.head
        if head.startswith(_UTF_16):
            raise DataError(
                f"{self.path} is UTF-16 text: convert it, for example: iconv -f utf-16 -t utf-8"
            )
        if b"\0" in head:
            raise DataError(f"{self.path} is not text (it has zero bytes): say what with format.")
        if b"\r" in head.rstrip() and b"\n" not in head:
            raise DataError(
                f"{self.path} ends its lines with CR alone: convert it, for example: tr '\\r' '\\n'"
            )
        self.content.skip_mark()
        self.content.require_lines()

    def require_short_header(self) -> None:
        """Refuse a table whose first line does not end: its names would be endless."""
        if len(self.head) == _HEAD and b"\n" not in self.head:
            begin = quoted(self.head[:40].decode("utf-8", "replace"))
            raise DataError(
                f"{self.path}: the first line of the table has more than {_HEAD:,} bytes, from "
                f"{begin} on: is this a table? Say what it is with format."
            )

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The first lines that are not blank, without line ends."""
        head = self.head
        if len(head) == _HEAD and b"\n" in head:
            head = head[: head.rindex(b"\n")]  # the last line may be cut
        text = head.decode("utf-8-sig", "replace")
        lines = tuple(line.rstrip("\r") for line in text.split("\n") if line.strip())
        if not lines:
            raise DataError(f"{self.path} has only blank lines: give a file with interactions.")
        return lines


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    title: what documents say of it. endings: of names that mean it. recognises: whether the
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

    name: what messages call one. title: what documents say of it.
    """

    name: str
    title: str
    recognises: Callable[[Any], bool]
    open: Callable[[Any, Wanted], Source]


def require_short_names(source: Source) -> None:
    """Refuse names of columns that nobody wrote."""
    longest = max(source.columns, key=len, default="")
    if len(longest) > LONGEST_NAME:
        raise DataError(
            f"{source.name} has a column whose name has {len(longest):,} characters, "
            f"{quoted(longest)}: give it a name of at most {LONGEST_NAME:,}."
        )


class NotUtf8Error(DataError):
    """Text in another encoding."""


@contextmanager
def polars_errors(name: str) -> Iterator[None]:
    """Turn an error of polars, its panics too, into a DataError; name: what was being read."""
    import polars as pl

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
        if "more fields" in reason:
            way_out = "some line has more fields than the first; mend it or give separator"
        elif "cannot parse" in reason:
            way_out = "a column mixes kinds of values; use one kind (for example strings) for all"
        else:
            way_out = "the file is damaged or of another format; say which with format"
        raise DataError(f"{name} cannot be read ({reason}): {way_out}.") from None
