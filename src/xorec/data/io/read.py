"""read: interactions from wherever they are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError
from xorec.core.progress import SILENT, Progress
from xorec.data.interactions import Interactions
from xorec.data.io.columns import choose_columns


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
    """Interactions from a file, a folder, a data frame, a SciPy matrix or Python pairs.

    source: a path to CSV, TSV, Parquet, JSON lines, MovieLens .dat, RecBole .inter or
      "user item item ..." lines (text also as .gz); a folder with one of these (as
      interactions.parquet, ratings.dat, ... or as train.txt and test.txt); a pandas, polars or
      Arrow frame; a SciPy sparse matrix; rows of (user, item[, rating[, time]]).
    user_column ... split_column: names of columns; None guesses, "" means "there is none".
      Columns without a header are called column_1, column_2, ...
    format, separator, has_header: how a text file is laid out, where the guess is wrong.
    item_info: a second file or frame with item names and categories.

    Ids keep their type; in text, ids that all are whole numbers (007 is none, and nothing that
    is quoted) become integers. Rows go by sorted ids, so the order of a file does not matter.
    Of equal pairs the latest by time stays, else the last. What was guessed or merged is in
    `notes` of the result.
    """
    wanted = {
        "user": user_column,
        "item": item_column,
        "rating": rating_column,
        "time": time_column,
        "split": split_column,
    }
    infos = [] if item_info is None else [item_info]
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        layout = (format, separator, has_header)
        data, found = _read_path(path, wanted, layout, progress)
        infos = infos or found
    else:
        data = _read_memory(source, wanted, progress)
    for info in infos:
        from xorec.data.io.side_information import add_item_info

        data = add_item_info(data, info)
    return data


def _read_path(
    path: Path,
    wanted: dict[str, str | None],
    layout: tuple[str | None, str | None, bool | None],
    progress: Progress,
) -> tuple[Interactions, list[Any]]:
    """A file, or what a folder holds; and the item files found beside it."""
    from xorec.data.io.encode import encode
    from xorec.data.io.folders import Folder, look_into
    from xorec.data.io.sources import joined, open_file

    folder = look_into(path) if path.is_dir() else Folder((path,), ("",), ())
    format, separator, has_header = layout
    named = tuple(name for name in wanted.values() if name)
    opened = [
        open_file(file, format=format, separator=separator, has_header=has_header, named=named)
        for file in folder.files
    ]
    if any(source.is_list for source in opened):  # short lists alone would look like a table
        opened = [open_file(file, format="list") for file in folder.files]
    source = opened[0] if len(opened) == 1 else joined(str(path), opened, folder.parts)
    columns = choose_columns(source.columns, wanted, source.name, source.positions)
    return encode(source, columns, progress), list(folder.item_info)


def _read_memory(source: Any, wanted: dict[str, str | None], progress: Progress) -> Interactions:
    from scipy.sparse import issparse

    from xorec.data.io import frames
    from xorec.data.io.encode import encode

    if issparse(source):
        return frames.from_matrix(source)
    frame = frames.as_frame(source)
    if frame is not None:
        names = frames.frame_columns(frame)
        columns = choose_columns(names, wanted, frames.FRAME, ())
        in_use = list(columns.in_use().values())
        opened = frames.open_frame(frame, in_use, (columns.user, columns.item))
        return encode(opened, columns, progress)
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        opened = frames.open_pairs(source)
        columns = choose_columns(opened.columns, {}, opened.name, opened.columns)
        return encode(opened, columns, progress)
    raise DataError(
        f"a {type(source).__name__} cannot be read: give a path, a data frame, a SciPy sparse "
        "matrix or (user, item) pairs."
    )
