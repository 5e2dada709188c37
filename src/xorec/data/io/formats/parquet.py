"""Parquet: columns with names and types."""

from __future__ import annotations

from xorec.core.errors import DataError
from xorec.data.io.formats.base import DataFile, FileFormat, Source

BYTES_OF_ROW = 16
"""What a row becomes, at least: a user and an item."""


def _open(file: DataFile) -> Source:
    import polars as pl

    frame = pl.scan_parquet(file.place, glob=False)
    rows, bound = (
        frame.select(pl.len()).collect().item(),
        file.content.limits.bound(file.content.size),
    )
    if rows * BYTES_OF_ROW > bound:
        raise DataError(
            f"{file.path} says that its {file.content.size:,} bytes hold {rows:,} rows: if it is "
            "meant to, raise max_expanded (--max-expanded 20GB)."
        )
    return Source(str(file.path), frame, tuple(frame.collect_schema().names()))


PARQUET = FileFormat(
    "parquet",
    "Parquet",
    _open,
    (".parquet", ".pq"),
    recognises=lambda file: file.head.startswith(b"PAR1"),
    is_text=False,
)
