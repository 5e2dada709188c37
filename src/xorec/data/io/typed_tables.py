"""Files whose columns have names and types: Parquet and JSON lines.

A damaged or altered Parquet file may ask polars for 2^61 bytes, and polars then ends the process:
no error that could be caught. So a child reads the file first. JSON lines are one object a line;
the types of the fields are those of the first lines.
"""

from __future__ import annotations

import glob
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from xorec.core.errors import DataError
from xorec.data.io.base import FileFormat, Source
from xorec.data.io.data_file import DataFile

BYTES_OF_ROW = 16
"""A user and an item, at least."""

_TRIAL = """
import sys
import polars as pl
pl.scan_parquet(sys.argv[1], glob=False).select(pl.all().null_count()).collect(engine="streaming")
"""


def _open_parquet(file: DataFile) -> Source:
    _try_to_read(file)
    frame = pl.scan_parquet(file.location, glob=False)
    rows = frame.select(pl.len()).collect().item()
    bound = file.limits.bound(file.size)
    if rows * BYTES_OF_ROW > bound:
        raise DataError(
            f"{file.path} says that its {file.size:,} bytes hold {rows:,} rows: if it is "
            "meant to, raise max_expanded (--max-expanded 20GB)."
        )
    return Source(str(file.path), frame, tuple(frame.collect_schema().names()))


def _try_to_read(file: DataFile) -> None:
    """Refuse a file that kills a child process; other errors are found again here."""
    path = file.location.absolute()
    inherited = (int(path.name),) if path.parent == Path("/proc/self/fd") else ()
    command = [sys.executable, "-I", "-c", _TRIAL, str(path)]
    with suppress(OSError):  # where no child can be had, there is no trial
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=inherited,
            check=False,
        )
        if done.returncode < 0:
            raise DataError(
                f"{file.path} is damaged: reading it runs out of memory or crashes; fetch or "
                "write it again."
            )


PARQUET = FileFormat(
    "parquet",
    "Parquet",
    _open_parquet,
    (".parquet", ".pq"),
    recognises=lambda file: file.head.startswith(b"PAR1"),
    is_text=False,
)


DEEPEST = 8
"""Lists inside lists that are read."""


def _open_json_lines(file: DataFile) -> Source:
    if file.lines[0].lstrip().startswith("["):
        raise DataError(f"{file.path} is one JSON array: write one object a line (JSON lines).")
    fields: dict[str, list[Any]] = {}
    for number, line in enumerate(file.lines[:1000], start=1):
        for name, value in _json_object(line, file.path, number).items():
            fields.setdefault(name, []).append(value)
    schema = {name: _json_type(values) for name, values in fields.items()}
    schema = {name: dtype for name, dtype in schema.items() if dtype is not None}
    return Source(
        str(file.path),
        pl.scan_ndjson(Path(glob.escape(str(file.location))), schema=schema),
        tuple(schema),
    )


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    """The object on one line of a file."""
    value: dict[str, Any] = {}
    try:
        value = json.loads(line)
        wrong = "" if isinstance(value, dict) else "not a JSON object: write one object a line"
    except json.JSONDecodeError as error:
        wrong = f"not JSON ({error.msg}): mend that line"
    except RecursionError:
        wrong = "objects or lists too deep inside each other: mend that line"
    except ValueError:
        wrong = "a number of thousands of digits: write it as a string"
    if wrong:
        raise DataError(f"{path}, line {number}: {wrong}.")
    return value


def _json_type(values: list[Any], depth: int = 0) -> Any:
    """The polars type of a JSON field; None for objects, which are left out."""
    types = {type(value) for value in values if value is not None}
    if types == {list}:
        if depth == DEEPEST:
            return None
        inner = _json_type([element for value in values if value for element in value], depth + 1)
        return None if inner is None else pl.List(inner)
    if types <= {bool}:
        return pl.Boolean
    if types <= {int}:
        return pl.Int64
    if types <= {int, float}:
        return pl.Float64
    return pl.String if types <= {int, float, str} else None


JSON_LINES = FileFormat(
    "jsonl",
    "JSON lines (Amazon reviews: reviewerID, asin, overall, unixReviewTime)",
    _open_json_lines,
    (".jsonl", ".ndjson", ".json"),
    recognises=lambda file: file.lines[0].lstrip().startswith(("{", "[")),
)
