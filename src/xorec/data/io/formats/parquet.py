"""Parquet: columns with names and types."""

from __future__ import annotations

from xorec.data.io.formats.base import DataFile, FileFormat, Source


def _open(file: DataFile) -> Source:
    import polars as pl

    frame = pl.scan_parquet(file.path)
    return Source(str(file.path), frame, tuple(frame.collect_schema().names()))


PARQUET = FileFormat(
    "parquet",
    "Parquet",
    _open,
    (".parquet", ".pq"),
    recognises=lambda file: file.head.startswith(b"PAR1"),
    is_text=False,
)
