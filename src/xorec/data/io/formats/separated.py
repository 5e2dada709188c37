"""CSV, TSV and other tables of text whose fields are divided by a separator.

One character divides: polars parses the lines. A longer separator (MovieLens has "::"), or any
run of blanks: the lines are split here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xorec.data.io.formats.base import DataFile, FileFormat
from xorec.data.io.formats.text import (
    WHITESPACE,
    TextTable,
    guess_separator,
    split_fields,
    text_table,
    unquote,
)
from xorec.data.io.source import Source

if TYPE_CHECKING:
    import polars as pl


def scan_csv(
    table: TextTable, types: Mapping[str, Any], quote_char: str | None = '"'
) -> pl.LazyFrame:
    """A table with a separator of one character, each column as text unless it has a type."""
    import polars as pl

    return pl.scan_csv(
        table.file.place,
        separator=table.separator,
        has_header=table.has_header,
        infer_schema=False,
        schema_overrides=types,
        quote_char=quote_char,
    )


def open_separated(file: DataFile, separator: str) -> Source:
    """A table with this separator."""
    table = text_table(file, separator)
    if separator == WHITESPACE or len(separator) > 1:
        return _open_lines(table)
    frame = scan_csv(table, {})
    names = frame.collect_schema().names()

    def scan(types: Mapping[str, Any]) -> pl.LazyFrame:
        return scan_csv(table, {name: types[name] for name in names if name in types})

    return replace(table.source(frame, names), scan=scan)


def _open_lines(table: TextTable) -> Source:
    import polars as pl

    line = pl.col("line")
    blanks = table.separator == WHITESPACE
    fields = line.str.extract_all(r"\S+") if blanks else line.str.split(table.separator)
    lines = pl.scan_lines(table.file.place).filter(line.str.strip_chars() != "")
    frame = lines.select(fields.alias("fields"))
    first = split_fields(table.file.lines[0], table.separator)
    if table.has_header:
        names = [unquote(field) for field in first]
        frame = frame.slice(1)
    else:
        names = [f"column_{at + 1}" for at in range(len(first))]
    field = pl.col("fields").list
    columns = {name: field.get(at, null_on_oob=True) for at, name in enumerate(names)}
    return table.source(frame.select(**columns), names)


def _open_csv(file: DataFile) -> Source:
    separator = file.layout.separator
    if separator is None:
        separator = "," if "," in file.lines[0] else guess_separator(file.lines) or ","
    return open_separated(file, separator)


def _open_tsv(file: DataFile) -> Source:
    return open_separated(file, file.layout.separator or "\t")


def _open_dat(file: DataFile) -> Source:
    guessed = file.layout.separator or guess_separator(file.lines)
    return open_separated(file, guessed or WHITESPACE)


CSV = FileFormat(
    "csv", "CSV, with or without a header; also with `;` and the like", _open_csv, (".csv",)
)
TSV = FileFormat("tsv", "TSV: the same with tabs", _open_tsv, (".tsv", ".tab"))
DAT = FileFormat(
    "dat",
    "other separators, guessed: `::` (MovieLens `ratings.dat`), tabs (`u.data`), blanks, ...",
    _open_dat,
    (".dat",),
    recognises=lambda file: True,
)
