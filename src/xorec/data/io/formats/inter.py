"""RecBole's .inter and .item: tabs, a header of name:type fields, nothing quoted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xorec.data.io.formats.base import DataFile, FileFormat, Source
from xorec.data.io.formats.separated import (
    WHITESPACE,
    numbered,
    open_separated,
    scan_csv,
    text_table,
)

if TYPE_CHECKING:
    import polars as pl


def _open(file: DataFile) -> Source:
    separator = file.layout.separator or "\t"
    if separator == WHITESPACE or len(separator.encode()) > 1:
        return open_separated(file, separator)
    table = text_table(file, separator, has_header=True)
    raw = scan_csv(table, {}, quote_char=None).collect_schema().names()
    names = [name.split(":")[0] for name in raw]  # user_id:token -> user_id
    plain = dict(zip(raw, names if table.has_header else numbered(len(raw)), strict=True))

    def scan(types: Mapping[str, Any]) -> pl.LazyFrame:
        wanted = {name: types[plain[name]] for name in raw if plain[name] in types}
        return scan_csv(table, wanted, quote_char=None).rename(plain)

    sequences = frozenset(plain[name] for name in raw if name.endswith(":token_seq"))
    source = table.source(scan({}), list(plain.values()))
    return replace(source, sequences=sequences, scan=scan)


INTER = FileFormat("inter", "RecBole `.inter`", _open, (".inter", ".item"))
