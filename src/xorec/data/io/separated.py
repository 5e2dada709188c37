"""CSV, TSV and other tables of text whose fields are divided by a separator.

The separator, the header and the quoted columns are guessed from the first lines. With a separator
of one character, polars parses the lines; with a longer one (MovieLens has "::") or with any run of
blanks, they are split here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.core.printable import LONGEST_VALUE, shortened
from xorec.data.io.base import FileFormat, Source
from xorec.data.io.columns import is_known_name
from xorec.data.io.data_file import DataFile

if TYPE_CHECKING:
    import polars as pl


WHITESPACE = " "
"""Stands for any run of blanks."""
_MOST = 0.6
"""The share of the lines that tells a separator where some lines are broken."""
_SEPARATORS = ("::", "\t", ",", ";", "|")


@dataclass(frozen=True)
class TextTable:
    """rows: the fields of the first lines, as they stand there, the header among them."""

    file: DataFile
    separator: str
    has_header: bool
    rows: list[list[str]]

    def source(self, frame: pl.LazyFrame, names: list[str]) -> Source:
        """The table as a Source; columns without a header get their roles by position."""
        path = self.file.path
        if len(names) < 2:
            raise DataError(
                f"{path} has one column only ({shortened(names[0], LONGEST_VALUE)}): interactions "
                "need two, user and item; give separator if it is another one."
            )
        body = self.rows[1:] if self.has_header else self.rows
        quoted = frozenset(names[at] for at in _quoted_columns(body) if at < len(names))
        said = () if self.has_header else ("no header: columns taken by position",)
        return Source(
            str(path),
            frame,
            tuple(names),
            text=True,
            quoted=quoted,
            positions=() if self.has_header else _positions(self.rows),
            notes=said,
        )


def text_table(file: DataFile, separator: str, has_header: bool | None = None) -> TextTable:
    """The table of a file; whether it has a header is guessed unless the layout or caller says."""
    file.require_short_header()
    rows = [split_fields(line, separator) for line in file.lines[:100]]
    if file.layout.has_header is not None:
        has_header = file.layout.has_header
    if has_header is None:
        has_header = _has_header(rows, file.layout.named)
    return TextTable(file, separator, has_header, rows)


def open_separated(file: DataFile, separator: str, *, typed_names: bool = False) -> Source:
    """A table with this separator.

    typed_names: as RecBole has them, user_id:token; there is a header, and nothing is quoted.
    """
    import polars as pl

    by_lines = separator == WHITESPACE or len(separator.encode()) > 1
    table = text_table(file, separator, has_header=True if typed_names and not by_lines else None)
    if by_lines:
        return _open_lines(table)
    read = partial(
        pl.scan_csv,
        table.file.location,
        glob=False,
        separator=table.separator,
        has_header=table.has_header,
        infer_schema=False,
        quote_char=None if typed_names else '"',
    )
    raw = read().collect_schema().names()
    # without a header polars counts from 0 or 1, by version
    names = raw if table.has_header else numbered(len(raw))
    names = [name.split(":")[0] for name in names] if typed_names else names
    plain = dict(zip(raw, names, strict=True))

    def scan(types: Mapping[str, Any]) -> pl.LazyFrame:
        known = {name: types[our] for name, our in plain.items() if our in types}
        return read(schema_overrides=known).rename(plain)

    sequences = {plain[name] for name in raw if typed_names and name.endswith(":token_seq")}
    source = table.source(scan({}), names)
    return replace(source, scan=scan, sequences=frozenset(sequences))


def numbered(count: int) -> list[str]:
    """The names of columns without a header."""
    return [f"column_{at}" for at in range(1, count + 1)]


def _open_lines(table: TextTable) -> Source:
    import polars as pl

    line = pl.col("line")
    blanks = table.separator == WHITESPACE
    fields = line.str.extract_all(r"\S+") if blanks else line.str.split(table.separator)
    lines = pl.scan_lines(table.file.location, glob=False).filter(line.str.strip_chars() != "")
    frame = lines.select(fields.alias("fields"))
    first = split_fields(table.file.lines[0], table.separator)
    if table.has_header:
        names = [unquote(field) for field in first]
        frame = frame.slice(1)
    else:
        names = numbered(len(first))
    field = pl.col("fields").list
    columns = {name: field.get(at, null_on_oob=True) for at, name in enumerate(names)}
    return table.source(frame.select(**columns), names)


def _open_csv(file: DataFile) -> Source:
    separator = file.layout.separator
    if separator is None:
        guessed = guess_separator(file.lines) or guess_separator(file.lines, share=_MOST)
        separator = "," if "," in file.lines[0] else guessed or ","
    return open_separated(file, separator)


def _open_dat(file: DataFile) -> Source:
    guessed = file.layout.separator or guess_separator(file.lines)
    return open_separated(file, guessed or WHITESPACE)


def guess_separator(lines: tuple[str, ...], share: float = 1.0) -> str | None:
    """The separator that divides lines into as many fields as the first; None: there is none.

    share: of the lines, at least. Those that differ are found when the file is read.

    >>> guess_separator(("user;item;when", "ann;tea;7", "bob;rye"), share=0.6)
    ';'
    """
    for separator in _SEPARATORS:
        counts = [len(split_fields(line, separator)) for line in lines]
        if counts[0] > 1 and counts.count(counts[0]) >= share * len(counts):
            return separator
    return None


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of a line as they stand there, quotation marks included.

    >>> split_fields('1,"a, b",3', ",")
    ['1', '"a, b"', '3']
    """
    if separator == WHITESPACE:
        return line.split()
    if '"' not in line or len(separator) > 1:
        return line.split(separator)
    escaped = re.escape(separator)
    fields = []
    for field, end in re.findall(rf'("(?:[^"]|"")*"|[^{escaped}]*)({escaped}|$)', line):
        fields.append(field)
        if not end:
            break
    return fields


def unquote(field: str) -> str:
    """A field without its quotation marks."""
    field = field.strip()
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def _is_number(field: str) -> bool:
    try:
        float(unquote(field))
    except ValueError:
        return False
    return True


def _has_header(rows: list[list[str]], named: tuple[str, ...]) -> bool:
    """A first row of names: one that was asked for, or known ones, or words over numbers."""
    first = [unquote(field) for field in rows[0]]
    if any(name in first for name in named) or any(is_known_name(field) for field in first):
        return True
    if any(_is_number(field) for field in first):
        return False
    body = rows[1:]
    if any(_is_number(field) for row in body for field in row[: len(first)]):
        return True
    seen = {(at, unquote(field)) for row in body for at, field in enumerate(row)}
    return not any(field in seen for field in enumerate(first))


def _quoted_columns(rows: list[list[str]]) -> list[int]:
    """The columns whose values stand in quotation marks: they are strings."""
    columns = [list(filter(None, fields)) for fields in zip_longest(*rows)]
    return [
        at
        for at, fields in enumerate(columns)
        if fields and all(field.lstrip().startswith('"') for field in fields)
    ]


def _positions(rows: list[list[str]]) -> tuple[str, ...]:
    """The roles of columns without names: user, item, then numbers: small ratings, large times."""
    roles = ["user", "item"]
    for fields in list(zip(*rows, strict=False))[2:4]:
        if not all(_is_number(field) for field in fields):
            break
        role = "time" if min(float(unquote(field)) for field in fields) > 1e8 else "rating"
        if role in roles:
            break
        roles.append(role)
    return tuple(roles)


CSV = FileFormat(
    "csv", "CSV, with or without a header; also with `;` and the like", _open_csv, (".csv",)
)
TSV = FileFormat(
    "tsv",
    "TSV: the same with tabs",
    lambda file: open_separated(file, file.layout.separator or "\t"),
    (".tsv", ".tab"),
)
DAT = FileFormat(
    "dat",
    "other separators, guessed: `::` (MovieLens `ratings.dat`), tabs (`u.data`), blanks, ...",
    _open_dat,
    (".dat",),
    recognises=lambda file: True,
)


INTER = FileFormat(
    "inter",
    "RecBole `.inter`",
    lambda file: open_separated(file, file.layout.separator or "\t", typed_names=True),
    (".inter", ".item"),
)


def _open_lists(file: DataFile) -> Source:
    import polars as pl

    lines = pl.scan_lines(file.location, glob=False).select(
        pl.col("line").str.extract_all(r"\S+").alias("words")
    )
    words = pl.col("words").list
    frame = lines.filter(words.len() > 1).select(user=words.first(), item=words.slice(1))
    return Source(str(file.path), frame.explode("item"), ("user", "item"), text=True)


def _are_lists(file: DataFile) -> bool:
    """Whether lines have so different lengths that they can be no table."""
    if file.layout.separator is not None or guess_separator(file.lines) is not None:
        return False
    lengths = {len(line.split()) for line in file.lines}
    return len(lengths) > 1 or max(lengths) > 4


ITEM_LISTS = FileFormat(
    "list", "lists: `user item item ...` a line, as LightGCN has them", _open_lists, (), _are_lists
)
