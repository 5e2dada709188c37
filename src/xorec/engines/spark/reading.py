"""Interactions read by Spark where they lie; equal to what `xorec.read` and `prepare` give.

Files that fit into the driver's memory are read there: it holds all pairs in the end, and 10 M rows
of Parquet took it 3.5 CPU seconds, Spark 33: rows go to Python and pairs come back through Java.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Unpack

from xorec.core.addresses import parse_address, without_secrets
from xorec.core.engine import Blocks
from xorec.core.errors import DataError
from xorec.core.memory import physical_memory
from xorec.core.paths import what_is_at
from xorec.core.progress import SILENT, Progress
from xorec.data.datasets.catalog import CATALOG
from xorec.data.interactions import Interactions
from xorec.data.io.base import Source
from xorec.data.io.columns import Columns
from xorec.data.io.encode import no_rows
from xorec.data.io.read import Reading, ReadOptions
from xorec.data.io.registry import discover
from xorec.engines.pairs import BLOCK_ROWS, PairFilters, ReadRows, to_interactions
from xorec.engines.spark.blocks import batches_of
from xorec.engines.spark.engine import PlacedBlocks, SparkEngine
from xorec.engines.spark.row_tasks import ROWS_SCHEMA, ReadBlocks
from xorec.engines.spark.session import one_line_errors, parse_spark_address, watching_stages
from xorec.engines.spark.tables import SparkTable, open_address, open_path

_ROW_BYTES = 53
"""Of a row while it is read, about: as measured by `xorec bench engine`."""
_TEXT, _PACKED = 3, 30
"""Bytes in memory for one of a text file, and of a compressed one, about."""


def fits_driver(path: Path) -> bool:
    """Whether a file, or a folder that the driver understands, is read in a quarter of its memory.

    A folder of parts (part-*.parquet) is for Spark.
    """
    try:
        files = list(discover(path).files) if path.is_dir() else [path]
    except DataError:
        return False
    return sum(map(_bytes_while_read, files)) <= physical_memory() // 4


def _bytes_while_read(path: Path) -> int:
    size, suffix = path.stat().st_size, path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return int(_ROW_BYTES * pq.read_metadata(path).num_rows)
        except (pa.ArrowException, OSError):
            return size  # damaged, or something else: who reads it says so
    return size * (_PACKED if suffix in (".gz", ".zip", ".zst", ".bz2", ".xz") else _TEXT)


_DATA_ROW = re.compile(r"(, data row )([0-9,]+)(: )")


def is_for_spark(source: str) -> bool:
    """Whether Spark reads it: large files, folders of parts, URLs, its own tables, JDBC.

    Named data sets, databases that we have a driver for, pipes, and files that fit into the
    driver's memory are read by the driver.
    """
    if source in CATALOG or source == "-":
        return False
    if parse_spark_address(source) is not None:
        return True
    if parse_address(source) is not None:
        return False
    if "://" in source:
        return True
    path = Path(source).expanduser()
    there = what_is_at(path, DataError) in ("a file", "a folder")
    return there and not fits_driver(path)


def read_with_spark(
    engine: SparkEngine,
    source: str | os.PathLike[str],
    *,
    filters: PairFilters = PairFilters(),  # noqa: B008 - immutable
    progress: Progress = SILENT,
    block_rows: int = BLOCK_ROWS,
    **options: Unpack[ReadOptions],
) -> Interactions:
    """Interactions of a file, a folder, a table of Spark or a database by JDBC.

    The options are those of `xorec.read`, and filters those of `prepare`, applied where the pairs
    lie. The driver gets the distinct ids and the pairs that stay, never the rows. Files of a
    folder count in the order of their names. block_rows: rows of a block, at most (about).
    """
    reading = Reading(options)
    address, given = parse_spark_address(os.fspath(source)), reading.layout
    table = (
        open_path(engine.session, os.fspath(source), given, reading.format, reading.limits)
        if address is None
        else open_address(engine.session, address)
    )
    rules, columns = reading.chosen(table.source)
    describe = partial(reading.described, item_files=table.item_info)
    with _rows(engine, table, rules, columns, block_rows, progress) as rows:
        weighing = reading.weighing(columns)
        return to_interactions(engine, rows, weighing, filters, describe, block_rows=block_rows)


@contextmanager
def _rows(
    engine: SparkEngine,
    table: SparkTable,
    rules: Source,
    columns: Columns,
    block_rows: int,
    progress: Progress,
) -> Iterator[ReadRows]:
    """The rows of a table as placed blocks, until the `with` block ends."""
    frames, first = [], 0
    with one_line_errors():
        for piece in table.pieces:
            task = ReadBlocks(
                rules.name,
                replace(columns, notes=()),
                piece.files,
                block_rows,
                first,
                piece.text,
                piece.part,
                rules.since,
            )
            frames.append(piece.by_role(columns, rules.name).mapInArrow(task, ROWS_SCHEMA))
            first += max(1, len(piece.files))
        frame: Any = reduce(lambda one, other: one.union(other), frames).persist()
    try:
        with (
            one_line_errors(),
            batches_of(engine.session, min(block_rows, *(one.batch_rows for one in table.pieces))),
            watching_stages(engine.session, f"reading {rules.name}", progress),
        ):
            facts = frame.drop("data").toArrow().sort_by("block").to_pylist()
        filled = sum(one["rows"] > 0 for one in facts)
        whole = frame.where("rows > 0").selectExpr("block", "0 AS part", "1 AS parts", "data")
        yield checked_rows(facts, PlacedBlocks(whole, filled), rules, columns)
    finally:
        with one_line_errors():
            frame.unpersist()


def checked_rows(
    facts: list[dict[str, Any]], blocks: Blocks, rules: Source, columns: Columns
) -> ReadRows:
    """Blocks that were read without an error. facts: of each block, in order (`ROWS_SCHEMA`).

    The first thing that is wrong is raised, with the number of its row among all.
    """
    before = 0
    for block in facts:
        if block["error"] is not None:
            raise DataError(without_secrets(_with_row(block["error"], before)))
        before += block["read"]
    total, blank = (sum(one[name] for one in facts) for name in ("rows", "blank"))
    if not total:
        raise no_rows(rules)
    return ReadRows(blocks, total, blank, rules, columns)


def _with_row(message: str, before: int) -> str:
    """The message of a block, for the row that it is after `before` others.

    >>> _with_row("x.csv, column 'user', data row 7: the user is empty", 1_000)
    "x.csv, column 'user', data row 1,007: the user is empty"
    """

    def counted(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2].replace(',', '')) + before:,}{found[3]}"

    return _DATA_ROW.sub(counted, message, count=1)
