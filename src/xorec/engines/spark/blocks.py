"""Blocks for Spark: arrays as bytes, bytes as rows (block, part, parts, data) of some megabytes.

Arrays are one run of bytes that is read back without a copy, from a row or from a mapped file. Java
keeps a row's bytes in one array. Large arrays find no room in a heap that is half full, so a block
is as many rows as it needs; the reader joins them, in whatever order they come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays

_ALIGN = 64
_LENGTH = 8
"""Bytes of the number that says how long the header is."""


def pack(arrays: Arrays) -> bytes:
    """Header (names, types, shapes), then the arrays, each at a multiple of 64 bytes.

    >>> unpack(pack({"x": np.array([3, 4], dtype=np.int32)}))["x"]
    array([3, 4], dtype=int32)
    """
    return b"".join(_pieces(arrays))


def write_packed(arrays: Arrays, file: BinaryIO) -> None:
    """The same to an open file, array by array."""
    for piece in _pieces(arrays):
        file.write(piece)


def unpack(buffer: Any) -> dict[str, npt.NDArray[Any]]:
    """The arrays, as views of the buffer.

    They are not marked as read-only, though they must not be written: kernels are compiled once
    more for read-only arrays, and the sums of that other code could differ in their last digits.
    """
    whole = np.frombuffer(buffer, dtype=np.uint8)
    length = int(whole[:_LENGTH].view("<u8")[0])
    entries = json.loads(whole[_LENGTH : _LENGTH + length].tobytes())
    found: dict[str, npt.NDArray[Any]] = {}
    at = _aligned(_LENGTH + length)
    for name, kind, shape in entries:
        found[name] = np.asarray(_View(whole, at, kind, tuple(shape)))
        at = _aligned(at + found[name].nbytes)
    return found


class _View:
    """Some bytes of an array as another, for NumPy to take; it keeps the array alive."""

    def __init__(
        self, whole: npt.NDArray[np.uint8], at: int, kind: str, shape: tuple[int, ...]
    ) -> None:
        self.whole = whole
        place = (whole.ctypes.data + at, False)
        self.__array_interface__ = {"data": place, "typestr": kind, "shape": shape, "version": 3}


def map_packed(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file that `write_packed` has written; pages are shared by all processes."""
    return unpack(np.memmap(path, dtype=np.uint8, mode="c"))


def _pieces(arrays: Arrays) -> list[Any]:
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries = [(name, array.dtype.str, np.shape(arrays[name])) for name, array in whole.items()]
    header = json.dumps(entries).encode()
    pieces: list[Any] = [len(header).to_bytes(_LENGTH, "little"), header]
    pieces.append(bytes(_aligned(_LENGTH + len(header)) - _LENGTH - len(header)))
    for array in whole.values():
        pieces.append(array.reshape(-1).view(np.uint8).data)
        pieces.append(bytes(_aligned(array.nbytes) - array.nbytes))
    return pieces


def _aligned(place: int) -> int:
    return -(-place // _ALIGN) * _ALIGN


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
