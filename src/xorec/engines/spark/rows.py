"""Blocks as rows of Spark: (block, part, parts, bytes), a few megabytes each.

Java keeps a row's bytes in one array. Large arrays find no place in a heap that is half full, so a
block is as many rows as it needs; who reads puts them together again, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from xorec.core.engine import Arrays
from xorec.engines.spark.packing import pack

BLOCK_SCHEMA = "block long, part int, parts int, data binary"
ROLE_SCHEMA = f"source long, {BLOCK_SCHEMA}"
_ROW_BYTES = 4 << 20
ROWS_SENT = 16
"""Rows of blocks that Spark takes from the driver at once: each such batch costs it a task."""
_BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_LIMIT = "2147483647"
"""Of bytes: Spark would measure the batch after every row."""


def block_rows(block: int, arrays: Arrays, *, source: int | None = None) -> Iterator[Any]:
    """The rows of a block, or of the part of it that `source` sends, each an Arrow batch."""
    import pyarrow as pa

    data = memoryview(pack(arrays))
    parts = max(1, -(-len(data) // _ROW_BYTES))
    columns = {} if source is None else {"source": pa.array([source], pa.int64())}
    for part in range(parts):
        piece = data[part * _ROW_BYTES : (part + 1) * _ROW_BYTES]
        yield pa.record_batch(
            columns
            | {
                "block": pa.array([block], pa.int64()),
                "part": pa.array([part], pa.int32()),
                "parts": pa.array([parts], pa.int32()),
                "data": _one_value(piece),
            }
        )


def _one_value(data: memoryview) -> Any:
    """An array of one binary value, without a copy.

    `pa.array([data], pa.binary())` copies it and never lets go of the memory behind the view
    (pyarrow 26): a worker kept every result it had sent.
    """
    import pyarrow as pa

    places = pa.py_buffer(np.array([0, len(data)], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, places, pa.py_buffer(data)])


def blocks_table(blocks: Iterable[Arrays]) -> tuple[Any, int]:
    """The rows of blocks as an Arrow table, ROWS_SENT in a batch, and how many blocks there are."""
    import pyarrow as pa

    count, batches, rows = 0, list[Any](), [next(block_rows(0, {})).slice(0, 0)]
    for count, block in enumerate(blocks, start=1):
        for row in block_rows(count - 1, block):
            rows.append(row)
            if len(rows) > ROWS_SENT:
                batches += pa.Table.from_batches(rows).combine_chunks().to_batches()
                del rows[1:]
    batches += pa.Table.from_batches(rows).combine_chunks().to_batches()
    return pa.Table.from_batches(batches, rows[0].schema), count


def in_order(table: Any) -> Iterator[Any]:
    """The rows of a table by their blocks, without a copy of it."""
    rows = [batch.slice(at, 1) for batch in table.to_batches() for at in range(batch.num_rows)]
    return iter(sorted(rows, key=lambda row: row.column("block")[0].as_py()))


def whole_blocks(batches: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    """(block, bytes) of every block, as soon as all its rows are there."""
    waiting: dict[tuple[int, int], dict[int, Any]] = {}
    for batch in batches:
        columns = {name: batch.column(at) for at, name in enumerate(batch.schema.names)}
        for at in range(batch.num_rows):
            block, part, parts = (columns[name][at].as_py() for name in ("block", "part", "parts"))
            data = columns["data"][at].as_buffer()
            if parts == 1:
                yield block, data
                continue
            source = columns["source"][at].as_py() if "source" in columns else 0
            found = waiting.setdefault((block, source), {})
            found[part] = np.frombuffer(data, dtype=np.uint8)
            if len(found) == parts:
                del waiting[block, source]
                yield block, np.concatenate([found[one] for one in range(parts)])


@contextmanager
def batches_of(session: Any, rows: int) -> Iterator[None]:
    """Rows go between Spark and Python in batches of this size, until the `with` block ends."""
    wanted = {_BATCH_ROWS: str(rows), _BATCH_BYTES: _NO_LIMIT}
    before = {name: session.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
