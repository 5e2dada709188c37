"""JSON lines: one object a line; the types of its fields as in the first lines."""

from __future__ import annotations

import glob
import json
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError
from xorec.data.io.formats.base import DataFile, FileFormat, Source

DEEPEST = 8
"""Lists inside lists that are read."""


def _open(file: DataFile) -> Source:
    import polars as pl

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
        pl.scan_ndjson(Path(glob.escape(str(file.place))), schema=schema),
        tuple(schema),
    )


def _json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    """The object on one line of a file."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: not JSON ({error.msg}): mend that line.") from None
    except RecursionError:
        raise DataError(
            f"{path}, line {number}: objects or lists too deep inside each other: mend that line."
        ) from None
    except ValueError:
        raise DataError(
            f"{path}, line {number}: a number of thousands of digits: write it as a string."
        ) from None
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {number}: not a JSON object: write one object a line.")
    return value


def _json_type(values: list[Any], depth: int = 0) -> Any:
    """The polars type of a JSON field; None for objects, which hold nothing of use here."""
    import polars as pl

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
    _open,
    (".jsonl", ".ndjson", ".json"),
    recognises=lambda file: file.lines[0].lstrip().startswith(("{", "[")),
)
