"""Which files the driver reads though there is Spark: those that fit into its memory.

The driver holds all pairs in the end, and reading 10 M rows of Parquet took it 3.5 CPU seconds,
Spark 33: rows go to Python and pairs come back through Java.
"""

from __future__ import annotations

from pathlib import Path

from xorec.core.errors import DataError
from xorec.core.memory import physical_memory
from xorec.data.io.folders import discover

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
