"""Lines of a text file, from anywhere in it, as the rows that they are in the whole file.

What the columns are, what divides them and whether there is a header is told by the first lines of
a file. So every chunk is read as if it came right after them, by the very code that reads a file
on one machine; the rows of these first lines are then left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError
from xorec.core.printable import listed
from xorec.data.io.base import Layout, Source, polars_errors
from xorec.data.io.columns import Columns
from xorec.data.io.content import Content, Limits
from xorec.data.io.encode import role_batches, with_numbers
from xorec.data.io.registry import open_file

if TYPE_CHECKING:
    import polars as pl

ELSEWHERE = "read it locally (--engine local), or convert it to Parquet"


@dataclass(frozen=True)
class TextFile:
    """How the lines of a file become rows.

    path: for messages. head: its first lines; head_rows: the rows that these are. format, layout,
    limits: as for `open_file`. names: the columns that must be there. untyped: values come as text.
    """

    path: str
    head: bytes
    head_rows: int
    format: str
    layout: Layout
    limits: Limits
    names: tuple[str, ...]
    untyped: bool

    def frames(self, lines: Any, columns: Columns, *, is_first: bool) -> list[pl.DataFrame]:
        """The rows of an Arrow array of lines, with their ends: columns by role."""
        import polars as pl

        data, lengths = _joined(lines)
        if lengths.max(initial=0) > self.limits.line + 1:
            raise DataError(
                f"{self.path} has a line of more than {self.limits.line:,} bytes: is it text? If "
                "it is meant to, raise max_line (--max-line 1GB)."
            )
        skip = 0 if is_first else self.head_rows
        content = Content.of_bytes(
            Path(self.path), data if is_first else self.head + data, self.limits
        )
        source = open_file(Path(self.path), self.layout, format=self.format, content=content)
        if source.columns != self.names:
            raise DataError(
                f"{self.path}: a file with the columns {listed(source.columns)} beside one with "
                f"{listed(self.names)}: give them the same columns."
            )
        if is_quoting(source):
            self._refuse_broken_quotes(data, lengths)
        chosen = replace(columns, split=None) if columns.split not in self.names else columns
        source = _without_first(source, skip)
        with polars_errors(self.path):
            try:
                return list(role_batches(with_numbers(source, chosen), chosen))
            except pl.exceptions.PolarsError:
                if source.scan is None:
                    raise
                return list(role_batches(source, chosen))  # text will say what is no number

    def _refuse_broken_quotes(self, data: bytes, lengths: Any) -> None:
        """A field with a line break inside might be cut in two: nobody would notice."""
        if b'"' not in data:
            return
        marks = np.frombuffer(data, dtype=np.uint8) == ord('"')
        starts = np.cumsum(lengths) - lengths
        if (np.add.reduceat(marks, starts, dtype=np.int64) % 2).any():
            raise DataError(
                f"{self.path} has a line break inside quotation marks, or a mark without its pair, "
                f"and Spark cuts files at line ends: {ELSEWHERE}."
            )


def open_text(
    name: str, head: bytes, format: str, layout: Layout, limits: Limits
) -> tuple[Source, TextFile]:
    """The rules for a file of this format that begins with `head`, and how its lines are read."""
    import polars as pl

    if format == "list":
        raise DataError(
            f"{name} has a list of items a line, which Spark does not read: {ELSEWHERE}."
        )
    content = Content.of_bytes(Path(name), head, limits)
    source = open_file(Path(name), layout, format=format, content=content)
    head = head if head.endswith(b"\n") else head + b"\n"
    with polars_errors(name):
        rows = source.frame.select(pl.len()).collect().item()
    text = TextFile(name, head, rows, format, layout, limits, source.columns, source.text)
    return source, text


def is_quoting(source: Source) -> bool:
    """Whether a quotation mark means something to polars' reader of this file."""
    return source.scan is not None and source.format != "inter"


def _joined(lines: Any) -> tuple[bytes, Any]:
    """The bytes of all lines, and the length of each."""
    import pyarrow as pa

    whole = lines.cast(pa.large_binary())
    _, places, data = whole.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[whole.offset : whole.offset + len(whole) + 1]
    if data is None:
        return b"", np.diff(offsets)
    return data.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes(), np.diff(offsets)


def _without_first(source: Source, rows: int) -> Source:
    """The source from this row on."""
    scan = source.scan
    if not rows:
        return source

    def later(types: Mapping[str, Any]) -> pl.LazyFrame:
        assert scan is not None
        return scan(types).slice(rows)

    frame = source.frame.slice(rows)
    return replace(source, frame=frame, scan=None if scan is None else later)
