"""Parquet: columns with names and types.

A damaged or altered file may ask polars for 2^61 bytes, and polars then ends the process: no error
that could be caught. So a child reads the file first.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from xorec.core.errors import DataError
from xorec.data.io.formats.base import DataFile, FileFormat, Source

BYTES_OF_ROW = 16
"""What a row becomes, at least: a user and an item."""


_TRIAL = """
import sys
import polars as pl
pl.scan_parquet(sys.argv[1], glob=False).select(pl.all().null_count()).collect(engine="streaming")
"""


def _open(file: DataFile) -> Source:
    import polars as pl

    _try_to_read(file)
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


def _try_to_read(file: DataFile) -> None:
    """Refuse a file that a child dies of; what it finds else is found again, and said, here."""
    place = str(file.place)
    handle = place.removeprefix("/proc/self/fd/")
    inherited = (int(handle),) if handle.isdigit() else ()
    command = [
        sys.executable,
        "-I",
        "-c",
        _TRIAL,
        str(place if inherited else Path(place).absolute()),
    ]
    with suppress(OSError):  # where no child can be had, there is no trial
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=inherited,
            check=False,
        )
        if done.returncode < 0:
            raise DataError(
                f"{file.path} is damaged: whoever reads it runs out of memory or crashes; fetch or "
                "write it again."
            )


PARQUET = FileFormat(
    "parquet",
    "Parquet",
    _open,
    (".parquet", ".pq"),
    recognises=lambda file: file.head.startswith(b"PAR1"),
    is_text=False,
)
