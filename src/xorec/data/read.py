"""read: interactions from wherever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xorec.data.columns import choose_columns
from xorec.data.interactions import Interactions
from xorec.progress import SILENT, Progress


def read(
    source: Any,
    *,
    user_column: str | None = None,
    item_column: str | None = None,
    rating_column: str | None = None,
    time_column: str | None = None,
    split_column: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    item_info: Any = None,
    progress: Progress = SILENT,
) -> Interactions:
    from xorec.data.encode import encode
    from xorec.data.sources import open_file

    wanted = {
        "user": user_column,
        "item": item_column,
        "rating": rating_column,
        "time": time_column,
        "split": split_column,
    }
    path = Path(source)
    if path.is_dir():
        path = path / "interactions.parquet"
    named = tuple(n for n in wanted.values() if n)
    opened = open_file(path, format=format, separator=separator, has_header=has_header, named=named)
    columns = choose_columns(opened.columns, wanted, opened.name, opened.positions)
    return encode(opened, columns, progress)
