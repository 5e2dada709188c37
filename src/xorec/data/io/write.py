"""Interactions written to files, with raw ids, ratings and times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from xorec.core.files import new_folder, replacing
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.split import Split

FileKind = Literal["parquet", "csv"]
_AS_TEXT = ("uuid", "int")
"""Kinds of ids that no column type holds."""


def write_split(parts: Split, folder: Path, kind: FileKind = "parquet") -> list[str]:
    """Write the parts to a new folder that `read` takes as a given split, whole or not at all.

    train, validation and test have the columns user, item and, where known, rating and time;
    `items` has names and categories. Parquet keeps every type of id; in CSV, text is quoted,
    so that "1" is not read back as 1. Returns the names of the files.
    """
    named = {"train": parts.train, "validation": parts.validation, "test": parts.test}
    with new_folder(folder) as temporary:
        for name, part in named.items():
            if part is not None:
                _write(pairs_frame(part), temporary / f"{name}.{kind}")
        items = _items(parts.train, lists=kind == "parquet")
        if items is not None:
            _write(items, temporary / f"items.{kind}")
        return sorted(file.name for file in temporary.iterdir())


def write_test_part(parts: Split, path: Path) -> None:
    """Write the test part to a Parquet file that also says how the split was made."""
    about = {"xorec": json.dumps({"split": parts.describe()})}
    with replacing(path) as temporary:
        pairs_frame(parts.test).write_parquet(temporary, metadata=about)


def split_of(path: Path) -> dict[str, Any]:
    """The split of `write_test_part`, as `Split.describe` has it; empty in another file."""
    about = json.loads(pl.read_parquet_metadata(path).get("xorec", "{}"))
    return dict(about.get("split", {}))


def pairs_frame(part: Interactions) -> pl.DataFrame:
    """The pairs by raw ids: user, item and, where they are known, rating and time."""
    columns: dict[str, Any] = {
        "user": _series(part.users).gather(part.user_rows),
        "item": _series(part.items).gather(part.indices),
        "rating": part.ratings,
        "time": part.times,
    }
    return pl.DataFrame({name: values for name, values in columns.items() if values is not None})


def _items(data: Interactions, lists: bool) -> pl.DataFrame | None:
    """What is known of the items; None where it is nothing. lists: categories as such, else a|b."""
    if data.names is None and data.categories is None:
        return None
    columns: dict[str, Any] = {"item": _series(data.items)}
    if data.names is not None:
        columns["name"] = list(data.names)
    if data.categories is not None:
        labels = [data.categories.of(item) for item in range(data.n_items)]
        columns["category"] = labels if lists else ["|".join(some) for some in labels]
    return pl.DataFrame(columns)


def _series(ids: Ids) -> pl.Series:
    if isinstance(ids.values, np.ndarray):
        return pl.Series(ids.values)
    return pl.Series(list(ids.values) if ids.kind in ("str", *_AS_TEXT) else list(ids))


def _write(table: pl.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        table.write_csv(path, quote_style="non_numeric")
    else:
        table.write_parquet(path)
