"""Tables as a store takes them: columns by kind, rows in bounded batches; and batches as frames.

In a frame, as in databases without a type for bit strings, a code is its words: w0, w1, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import CodeRows, Words, widen, words_for
from xorec.core.errors import StoreError
from xorec.core.printable import quoted

if TYPE_CHECKING:
    import polars as pl

BATCH_ROWS = 1 << 16
"""Rows of one batch, at most: memory does not grow with the rows of a table."""

Kind = Literal["row", "integer", "text", "code", "float", "vector"]
"""What a column holds.

row: a row number or another small whole number (int32). integer: int64. text: str. code: words
uint64 (n, W), see `core.bits`. float: float32. vector: float32 (n, d).
"""
Batch = Mapping[str, Any]
"""Values by column: arrays, and lists of str for text. All have as many rows."""


class Column(NamedTuple):
    """A column. size: the bits of a code, the numbers of a vector."""

    name: str
    kind: Kind
    size: int = 0


def spans(rows: int) -> Iterator[slice]:
    """Consecutive parts of so many rows, a batch each.

    >>> [*spans(3)]
    [slice(0, 3, None)]
    """
    for begin in range(0, rows, BATCH_ROWS):
        yield slice(begin, min(rows, begin + BATCH_ROWS))


def rows_of(batch: Batch) -> int:
    """The number of rows of a batch."""
    return len(next(iter(batch.values())))


def code_bytes(words: Words, bits: int) -> npt.NDArray[np.uint8]:
    """Codes as bytes (n, ceil(bits / 8)): the first bit is the lowest of the first byte.

    >>> code_bytes(np.array([[0x123]], dtype=np.uint64), bits=20)
    array([[35,  1,  0]], dtype=uint8)
    """
    return CodeRows(np.ascontiguousarray(words), bits).bytes


def code_words(codes: Iterable[bytes], bits: int) -> Words:
    """The inverse: the words (n, W) of codes as bytes."""
    joined = np.frombuffer(b"".join(codes), dtype=np.uint8)
    return CodeRows(widen(joined.reshape(-1, -(-bits // 8))), bits).words


def refuse_nul(batch: Batch, table: str, where: object) -> None:
    """Refuse text with a zero byte, for databases whose text cannot hold one."""
    for name, values in batch.items():
        if isinstance(values, list) and "\0" in "".join(values):
            wrong = next(one for one in values if "\0" in one)
            raise StoreError(
                f"{name} {quoted(wrong)} of the table {table} has a zero byte, which text in "
                f"{where} cannot hold: mend it in the data and fit again, or export to SQLite, "
                "DuckDB or files."
            )


def word_names(column: Column) -> list[str]:
    """The columns of a code's words.

    >>> word_names(Column("code", "code", 128))
    ['w0', 'w1']
    """
    return [f"w{at}" for at in range(words_for(column.size))]


def frame_schema(columns: Sequence[Column]) -> dict[str, Any]:
    """The types of the columns of a frame."""
    import polars as pl

    types: dict[str, Any] = {
        "row": pl.Int32(),
        "integer": pl.Int64(),
        "text": pl.String(),
        "float": pl.Float32(),
    }
    made: dict[str, Any] = {}
    for column in columns:
        if column.kind == "code":
            made |= dict.fromkeys(word_names(column), pl.UInt64())
        elif column.kind == "vector":
            made[column.name] = pl.Array(pl.Float32(), column.size)
        else:
            made[column.name] = types[column.kind]
    return made


def to_frame(columns: Sequence[Column], batch: Batch) -> pl.DataFrame:
    """A batch as a frame."""
    import polars as pl

    made: dict[str, Any] = {}
    for column in columns:
        values = batch[column.name]
        if column.kind == "code":
            made |= dict(zip(word_names(column), np.ascontiguousarray(values.T), strict=True))
        elif column.kind == "vector":
            made[column.name] = np.ascontiguousarray(values, dtype=np.float32)
        else:
            made[column.name] = values
    return pl.DataFrame(made, schema=frame_schema(columns))


def from_frame(frame: pl.DataFrame, columns: Sequence[Column]) -> dict[str, Any]:
    """Columns of a frame as `Store.fetch` gives them."""
    found: dict[str, Any] = {}
    for column in columns:
        if column.kind == "code":
            words = [frame[name].to_numpy() for name in word_names(column)]
            found[column.name] = np.stack(words, axis=1) if words else None
        elif column.kind == "text":
            found[column.name] = frame[column.name].to_list()
        elif column.kind == "vector":
            rows = frame[column.name].to_numpy()
            found[column.name] = np.asarray(rows, dtype=np.float32).reshape(-1, column.size)
        else:
            found[column.name] = frame[column.name].to_numpy()
    return found
