"""Batches as polars frames, and back: for files of columns. A code is its words: w0, w1, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.bits import words_for
from xorec.stores.schema import Schema
from xorec.stores.tables import Batch, Column

if TYPE_CHECKING:
    import polars as pl


def word_names(column: Column) -> list[str]:
    """The columns of a code's words.

    >>> word_names(Column("code", "code", 128))
    ['w0', 'w1']
    """
    return [f"w{at}" for at in range(words_for(column.size))]


def frame_schema(schema: Schema) -> dict[str, Any]:
    """The types of the columns of a frame."""
    import polars as pl

    types: dict[str, Any] = {
        "row": pl.Int32(),
        "integer": pl.Int64(),
        "text": pl.String(),
        "float": pl.Float32(),
    }
    made: dict[str, Any] = {}
    for column in schema.columns:
        if column.kind == "code":
            made |= dict.fromkeys(word_names(column), pl.UInt64())
        elif column.kind == "vector":
            made[column.name] = pl.Array(pl.Float32(), column.size)
        else:
            made[column.name] = types[column.kind]
    return made


def to_frame(schema: Schema, batch: Batch) -> pl.DataFrame:
    """A batch as a frame."""
    import polars as pl

    columns: dict[str, Any] = {}
    for column in schema.columns:
        values = batch[column.name]
        if column.kind == "code":
            columns |= dict(zip(word_names(column), np.ascontiguousarray(values.T), strict=True))
        elif column.kind == "vector":
            columns[column.name] = np.ascontiguousarray(values, dtype=np.float32)
        else:
            columns[column.name] = values
    return pl.DataFrame(columns, schema=frame_schema(schema))


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
