"""CSV, TSV and other tables of text whose fields are divided by a separator.

The separator, the header and the quoted columns are guessed from the first lines. With a separator
of one character, polars parses the lines; with a longer one (MovieLens has "::") or with any run of
blanks, they are split here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

import polars as pl

from xorec.core.errors import DataError
from xorec.core.printable import LONGEST_VALUE, shortened
from xorec.data.io.base import FileFormat, Source
from xorec.data.io.columns import is_known_name
from xorec.data.io.data_file import DataFile

Scan = Callable[[Mapping[str, Any]], pl.LazyFrame]
WHITESPACE = " "
"""Stands for any run of blanks."""
_MOST = 0.6
"""The share of the lines that tells a separator where some lines are broken."""
_SEPARATORS = ("::", "\t", ",", ";", "|")


def open_separated(file: DataFile, separator: str, *, typed_names: bool = False) -> Source:
    """A table with this separator; without a header, columns get their roles by position.

    typed_names: as RecBole has them, user_id:token; there is a header, and nothing is quoted.
    """
    file.require_short_header()
    by_lines = separator == WHITESPACE or len(separator.encode()) > 1
    typed_names = typed_names and not by_lines
    rows = [split_fields(line, separator) for line in file.lines[:100]]
    has_header = file.layout.has_header
    if has_header is None:
        has_header = typed_names or _has_header(rows, file.layout.named)
    scan, sequences = None, frozenset[str]()
    if by_lines:
        names = [unquote(field) for field in rows[0]] if has_header else numbered(len(rows[0]))
        frame = _split_lines(file, separator, names, has_header=has_header)
    else:
        names, scan, sequences = _scanner(file, separator, has_header, typed_names)
        frame = scan({})
    if len(names) < 2:
        raise DataError(
            f"{file.path} has one column only ({shortened(names[0], LONGEST_VALUE)}): interactions "
            "need two, user and item; give separator if it is another one."
        )
    quoted = _quoted_columns(rows[1:] if has_header else rows)
    return Source(
        str(file.path),
        frame,
        tuple(names),
        text=True,
        quoted=frozenset(names[at] for at in quoted if at < len(names)),
        positions=() if has_header else _positions(rows),
        notes=() if has_header else ("no header: columns taken by position",),
        scan=scan,
        sequences=sequences,
    )


def _scanner(
    file: DataFile, separator: str, has_header: bool, typed_names: bool
) -> tuple[list[str], Scan, frozenset[str]]:
    """Names of columns, `Source.scan` and `Source.sequences` of a file that polars parses."""
    read = partial(
        pl.scan_csv,
        file.location,
        glob=False,
        separator=separator,
        has_header=has_header,
        infer_schema=False,
        quote_char=None if typed_names else '"',
    )
    raw = read().collect_schema().names()
    # without a header polars counts from 0 or 1, by version
    names = raw if has_header else numbered(len(raw))
    names = [name.split(":")[0] for name in names] if typed_names else names
    plain = dict(zip(raw, names, strict=True))

    def scan(types: Mapping[str, Any]) -> pl.LazyFrame:
        known = {name: types[our] for name, our in plain.items() if our in types}
        return read(schema_overrides=known).rename(plain)

    sequences = {plain[name] for name in raw if typed_names and name.endswith(":token_seq")}
    return names, scan, frozenset(sequences)


def numbered(count: int) -> list[str]:
    """The names of columns without a header."""
    return [f"column_{at}" for at in range(1, count + 1)]


def _split_lines(
    file: DataFile, separator: str, names: list[str], *, has_header: bool
) -> pl.LazyFrame:
    """The lines of a file, each split into the fields of these columns."""
    line = pl.col("line")
    fields = line.str.extract_all(r"\S+") if separator == WHITESPACE else line.str.split(separator)
    lines = pl.scan_lines(file.location, glob=False).filter(line.str.strip_chars() != "")
    frame = lines.select(fields.alias("fields")).slice(int(has_header))
    field = pl.col("fields").list
    return frame.select(**{name: field.get(at, null_on_oob=True) for at, name in enumerate(names)})


def _open_csv(file: DataFile) -> Source:
    separator = file.layout.separator
    if separator is None:
        guessed = guess_separator(file.lines) or guess_separator(file.lines, share=_MOST)
        separator = "," if "," in file.lines[0] else guessed or ","
    return open_separated(file, separator)


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
    lambda file: open_separated(
        file, file.layout.separator or guess_separator(file.lines) or WHITESPACE
    ),
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
