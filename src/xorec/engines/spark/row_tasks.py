"""Reading in Spark's Python processes: rows or lines in, blocks of coded rows out.

Rows come in runs: those of one stretch of one file, in their order. A run becomes one block or
several, numbered so that the numbers ascend with the data: file, stretch, block. Values and ids
are taken by the same code as on one machine. What is wrong with a row comes back beside the block,
for only the driver knows how many rows there are before it.

Parquet, tables and JDBC come as columns from Spark's own readers. Text comes as lines: Spark's CSV
and JSON readers replace bytes that are no UTF-8, drop blank lines uncounted, fill short rows with
nulls and do not tell a quoted number (an id that is text) from a plain one. The first lines of a
file tell its columns, its separator and whether there is a header. So every chunk of lines is read
as if it came right after them, by the code that reads a file on one machine; the rows of these
first lines are then left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError, XorecError
from xorec.core.printable import listed
from xorec.data.io.base import Source, polars_errors
from xorec.data.io.columns import Columns
from xorec.data.io.data_file import DataFile, FileLimits, Layout
from xorec.data.io.encode import gather, numbers_first, role_batches
from xorec.data.io.registry import open_file
from xorec.engines.row_ids import row_block
from xorec.engines.spark.blocks import pack

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
    limits: FileLimits
    names: tuple[str, ...]
    untyped: bool

    def frames(self, lines: Any, columns: Columns, *, is_first: bool) -> list[pl.DataFrame]:
        """The rows of an Arrow array of lines, with their ends: columns by role."""
        data, lengths = _joined(lines)
        if lengths.max(initial=0) > self.limits.line + 1:
            raise DataError(
                f"{self.path} has a line of more than {self.limits.line:,} bytes: is it text? If "
                "it is meant to, raise max_line (--max-line 1GB)."
            )
        skip = 0 if is_first else self.head_rows
        content = data if is_first else self.head + data
        file = DataFile(Path(self.path), self.limits, self.layout, content)
        source = open_file(file, self.format)
        if source.columns != self.names:
            raise DataError(
                f"{self.path}: a file with the columns {listed(source.columns)} beside one with "
                f"{listed(self.names)}: give them the same columns."
            )
        if source.scan is not None and source.format != "inter":  # polars' reader heeds quotes
            self._refuse_broken_quotes(data, lengths)
        chosen = replace(columns, split=None) if columns.split not in self.names else columns
        source = _without_first(source, skip)
        with polars_errors(self.path):
            return numbers_first(source, chosen, lambda one: list(role_batches(one, chosen)))

    def _refuse_broken_quotes(self, data: bytes, lengths: Any) -> None:
        """A field with a line break inside might be cut in two, unnoticed."""
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
    name: str, head: bytes, format: str, layout: Layout, limits: FileLimits
) -> tuple[Source, TextFile]:
    """The rules for a file of this format that begins with `head`, and how its lines are read."""
    import polars as pl

    if format == "list":
        raise DataError(
            f"{name} has a list of items a line, which Spark does not read: {ELSEWHERE}."
        )
    source = open_file(DataFile(Path(name), limits, layout, head), format)
    head = head if head.endswith(b"\n") else head + b"\n"
    with polars_errors(name):
        rows = source.frame.select(pl.len()).collect().item()
    text = TextFile(name, head, rows, format, layout, limits, source.columns, source.text)
    return source, text


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


ROWS_SCHEMA = "block long, rows long, read long, blank long, error string, data binary"
FILE, START, LINE = "xorec_file", "xorec_start", "xorec_line"
"""Columns beside the data: a hash of the file, where its stretch begins, a line of text."""
_START_BITS = 44


@dataclass(frozen=True)
class ReadBlocks:
    """For `mapInArrow`: rows of a table, or lines of text, in; blocks out (`ROWS_SCHEMA`).

    files: the hashes of all files, in their order; none: the order is that of Spark's partitions.
    first: how many files come before these. text: how lines become rows; None: columns by role.
    part: of a given split, where the files have one. rows: of a block, at most.
    """

    name: str
    columns: Columns
    files: tuple[int, ...]
    rows: int
    first: int = 0
    text: TextFile | None = None
    part: str = ""
    since: int | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        place, number, rows = (-1, -1), 0, 0  # number: of the block in its run
        frames: list[pl.DataFrame] = []
        try:
            for run, batch in self._runs(batches):
                is_new = run != place
                if is_new or rows >= self.rows:
                    if frames:
                        yield self._made(_number(place, number), frames)
                    place, number, rows, frames = run, 0 if is_new else number + 1, 0, []
                more = self._frames(batch, is_first=is_new and run[1] == 0)
                frames += more
                rows += sum(map(len, more))
            if frames:
                yield self._made(_number(place, number), frames)
        except DataError as error:
            yield _row(_number(place, number), error=str(error))
            for _ in batches:  # what is not read would be taken for a failure of this process
                pass

    def _runs(self, batches: Iterator[Any]) -> Iterator[tuple[tuple[int, int], Any]]:
        """((file, start of the stretch), rows), in the order of a partition."""
        rank = {number: self.first + at for at, number in enumerate(self.files)}
        for batch in batches:
            if not batch.num_rows:
                continue
            if not self.files:
                from pyspark import TaskContext

                context: Any = TaskContext.get()
                yield (self.first + int(context.partitionId()), 0), batch
                continue
            files = batch.column(batch.schema.get_field_index(FILE)).to_numpy()
            starts = batch.column(batch.schema.get_field_index(START)).to_numpy()
            changes = np.flatnonzero((np.diff(files) != 0) | (np.diff(starts) != 0)) + 1
            for begin, end in zip([0, *changes], [*changes, len(files)], strict=True):
                number = int(files[begin])
                if number not in rank:
                    raise XorecError(f"{self.name} has changed while it was read: read it again.")
                yield (rank[number], int(starts[begin])), batch.slice(begin, end - begin)

    def _frames(self, batch: Any, is_first: bool) -> list[pl.DataFrame]:
        """Columns by role. is_first: the rows begin with the first of their file."""
        import polars as pl

        if self.text is not None:
            lines = batch.column(batch.schema.get_field_index(LINE))
            frames = self.text.frames(lines, self.columns, is_first=is_first)
        else:
            wanted = [role for role in self.columns.in_use() if role in batch.schema.names]
            frames = [pl.DataFrame(pl.from_arrow(batch.select(wanted)))]
        return (
            [one.with_columns(split=pl.lit(self.part)) for one in frames] if self.part else frames
        )

    def _made(self, number: int, frames: list[pl.DataFrame]) -> Any:
        import polars as pl

        text = self.text
        source = Source(
            self.name,
            pl.LazyFrame(),
            (),
            text=text is not None and text.untyped,
            text_file=text is not None,
            stream=lambda _: iter(frames),
            since=self.since,
        )
        try:
            with polars_errors(self.name):
                gathered = gather(source, self.columns)
        except DataError as error:
            return _row(number, error=str(error))
        data = pack(row_block(gathered)) if gathered.rows else None
        return _row(number, gathered.rows, gathered.read, gathered.blank, data=data)


def _number(place: tuple[int, int], block: int) -> int:
    """Ascends with (file, start, block): a stretch has fewer blocks than bytes."""
    file, start = place
    return (file << _START_BITS) + start + block


def _row(
    block: int,
    rows: int = 0,
    read: int = 0,
    blank: int = 0,
    *,
    error: str | None = None,
    data: bytes | None = None,
) -> Any:
    import pyarrow as pa

    columns = {"block": block, "rows": rows, "read": read, "blank": blank}
    arrays = {name: pa.array([value], pa.int64()) for name, value in columns.items()}
    arrays["error"] = pa.array([error], pa.string())
    arrays["data"] = pa.array([data], pa.binary())
    return pa.record_batch(arrays)
