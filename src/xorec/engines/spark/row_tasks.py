"""What runs in Spark's Python processes while data are read: rows in, blocks of coded rows out.

Rows come in runs: those of one stretch of one file, in their order. A run becomes one block or
several, numbered so that the numbers ascend with the data: file, stretch, block. Values and ids
are taken by the same code as on one machine. What is wrong with a row comes back beside the block,
for only the driver knows how many rows there are before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError, XorecError
from xorec.data.io.base import Source, polars_errors
from xorec.data.io.columns import Columns
from xorec.data.io.encode import gather
from xorec.engines.pairs.row_blocks import row_block
from xorec.engines.spark.packing import pack
from xorec.engines.spark.text_chunks import TextFile

if TYPE_CHECKING:
    import polars as pl

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
        place, block = (-1, -1), _Block()
        try:
            for run, batch in self._runs(batches):
                if run != place or block.rows >= self.rows:
                    if block.frames:
                        yield self._made(place, block)
                    block = _Block(0 if run != place else block.number + 1)
                    is_first = run != place and run[1] == 0
                    place = run
                else:
                    is_first = False
                block.add(self._frames(batch, is_first))
            if block.frames:
                yield self._made(place, block)
        except DataError as error:
            yield _row(_number(place, block.number), error=str(error))
            for _ in batches:  # what is not read would be taken for a failure of this process
                pass

    def _runs(self, batches: Iterator[Any]) -> Iterator[tuple[tuple[int, int], Any]]:
        """((file, start of the stretch), rows), in the order of a partition."""
        rank = {number: self.first + at for at, number in enumerate(self.files)}
        for batch in batches:
            if not batch.num_rows:
                continue
            if not self.files:
                yield (self.first + _partition(), 0), batch
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

    def _made(self, place: tuple[int, int], block: _Block) -> Any:
        import polars as pl

        text = self.text
        source = Source(
            self.name,
            pl.LazyFrame(),
            (),
            text=text is not None and text.untyped,
            text_file=text is not None,
            stream=lambda _: iter(block.frames),
            since=self.since,
        )
        number = _number(place, block.number)
        try:
            with polars_errors(self.name):
                gathered = gather(source, self.columns)
        except DataError as error:
            return _row(number, error=str(error))
        data = pack(row_block(gathered)) if gathered.rows else None
        return _row(number, gathered.rows, gathered.read, gathered.blank, data=data)


class _Block:
    """Frames that become a block; number: of the blocks of one run."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.frames: list[pl.DataFrame] = []
        self.rows = 0

    def add(self, frames: list[pl.DataFrame]) -> None:
        self.frames += frames
        self.rows += sum(map(len, frames))


def _number(place: tuple[int, int], block: int) -> int:
    """Ascends with (file, start, block): a stretch has fewer blocks than bytes."""
    file, start = place
    return (file << _START_BITS) + start + block


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


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
