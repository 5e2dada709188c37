"""JSON lines: the object on a line, and the type of a field by its first values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError


def json_object(line: str, path: Path, number: int) -> dict[str, Any]:
    """The object on one line of a file."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: not JSON ({error.msg}): mend that line.") from None
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {number}: not a JSON object: write one object a line.")
    return value


def json_type(values: list[Any]) -> Any:
    """The polars type of a JSON field; None for objects, which hold nothing of use here."""
    import polars as pl

    types = {type(value) for value in values if value is not None}
    if types == {list}:
        inner = json_type([element for value in values if value for element in value])
        return None if inner is None else pl.List(inner)
    if types <= {bool}:
        return pl.Boolean
    if types <= {int}:
        return pl.Int64
    if types <= {int, float}:
        return pl.Float64
    return pl.String if types <= {int, float, str} else None
