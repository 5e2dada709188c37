"""The first lines of a file, by which its format, separator, header and columns are told."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError
from xorec.core.paths import open_once
from xorec.data.io.content import GZIP, Limits
from xorec.engines.spark.failures import one_line_errors

HEAD = 1 << 16
"""Bytes that `formats.base` looks at; whole lines, so there may be more."""


def local_head(path: Path, limits: Limits) -> bytes:
    """Of a file on this machine, unpacked; refuses what Spark would not unpack as we do."""
    file, is_pipe = open_once(path, DataError)
    try:
        if is_pipe:
            raise DataError(f"{path} is a pipe, which Spark cannot read: write it to a file first.")
        start = file.read(2)
        file.seek(0)
        if (start == GZIP) != (path.suffix.lower() == ".gz") and start:
            what = "gzipped and not called" if start == GZIP else "not gzipped and called"
            raise DataError(f"{path} is {what} .gz, by which Spark tells: rename it.")
        if start != GZIP:
            return file.read(HEAD) + file.readline(limits.line)
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return unpacked.read(HEAD) + unpacked.readline(limits.line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path} is not a whole gzip file ({error}): fetch it again.") from None
    finally:
        file.close()


def spark_head(session: Any, location: str) -> bytes:
    """Of a file that only Spark can reach: its first lines, none longer than the head."""
    from pyspark.sql import functions as f

    lines = session.read.option("lineSep", "\n").text(location)
    value = f.substring(f.col("value").cast("binary"), 1, HEAD + 1)
    with one_line_errors():
        found = lines.select(value.alias("line")).limit(1000).toArrow().column("line").to_pylist()
        if sum(map(len, found)) < HEAD and len(found) == 1000:
            found = lines.select(value.alias("line")).limit(HEAD).toArrow()
            found = found.column("line").to_pylist()
    return b"".join(line + b"\n" for line in found)
