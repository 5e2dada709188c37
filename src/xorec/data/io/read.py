"""read: interactions from wherever they are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from xorec.core.addresses import parse_address
from xorec.core.errors import DataError, OptionError
from xorec.core.memory import require_address_space
from xorec.core.options import RunOptions
from xorec.core.printable import listed, quoted
from xorec.core.progress import SILENT, Progress
from xorec.core.suggestions import did_you_mean
from xorec.data.interactions import Interactions
from xorec.data.io.columns import REPEATS, Columns, choose_columns
from xorec.data.io.values import check_scale

if TYPE_CHECKING:
    from xorec.data.io.base import Layout, Source
    from xorec.data.io.content import Limits


class ReadOptions(TypedDict, total=False):
    """What `read` takes beside the source, for functions that read what they are given."""

    user_column: str | None
    item_column: str | None
    rating_column: str | None
    weight_column: str | None
    time_column: str | None
    split_column: str | None
    format: str | None
    separator: str | None
    has_header: bool | None
    item_info: Any
    since: Any
    max_expanded: int | str | None
    max_line: int | str | None
    weight_scale: str


def read(
    source: Any,
    *,
    user_column: str | None = None,
    item_column: str | None = None,
    rating_column: str | None = None,
    weight_column: str | None = None,
    time_column: str | None = None,
    split_column: str | None = None,
    format: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    item_info: Any = None,
    since: Any = None,
    max_expanded: int | str | None = None,
    max_line: int | str | None = None,
    weight_scale: str = "log",
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Interactions:
    """Interactions from a file, a folder, a database, a data frame, a SciPy matrix, Python pairs.

    source: a path to CSV, TSV, Parquet, JSON lines, MovieLens .dat, RecBole .inter or
      "user item item ..." lines (text also as .gz); a folder with one of these (as
      interactions.parquet, ratings.dat, ... or as train.txt and test.txt); a pandas, polars or
      Arrow frame; a SciPy sparse matrix; rows of (user, item[, rating[, time]]); the address of a
      database with a table or a query: "postgresql://host/shop?table=orders",
      "shop.duckdb?query=SELECT user, item FROM orders", shop.sqlite, "clickhouse://host/shop".
    user_column ... split_column: names of columns; None guesses, "" means "there is none".
      Columns without a header are called column_1, column_2, ...
    weight_column: how strong a pair is: counts, hours, ...; "repeats", where no column is called
      so, weighs a pair by its number of rows. Weights of repeated pairs are summed.
    weight_scale: "log" (`data.io.values`) for strengths of a wide range, "none" for ready weights.
    format: a name of `data.io.registry.FILE_FORMATS` (csv, parquet, ...), where the guess
      is wrong; so separator and has_header, for the layout of a text file.
    item_info: a second file, address or frame with item names and categories.
    since: only rows of this time or later: a date, or the number that the column of times has.
    max_expanded: what a compressed file or a pipe may become, in bytes or as "20GB"; None: 256 MB,
      or 200 times the file. max_line: the longest line of a text file; None: 64 MB.
    threads: at most this many sort the pairs; None takes all cores. Files are parsed by polars,
      whose threads are set by POLARS_MAX_THREADS. The result is the same for any number.

    Ids keep their type; in text, ids that all are whole numbers (007 is none, and nothing that
    is quoted) become integers. Rows go by sorted ids, so the order of a file does not matter.
    Of equal pairs the latest by time stays, else the last. What was guessed or merged is in
    `notes` of the result.

    >>> data = read([("ann", "tea", 5), ("bob", "tea", 3), ("ann", "jam", 4), ("ann", "tea", 2)])
    >>> data
    Interactions(2 users x 2 items, 3 pairs, ratings)
    >>> data.items.take(data.of_user(data.users.find("ann")))
    ['jam', 'tea']
    >>> data.notes[1]
    '1 repeated pairs merged, the last kept'
    """
    from xorec.data.io.base import Layout
    from xorec.data.io.content import make_limits
    from xorec.data.io.databases.source import open_address
    from xorec.data.io.encode import Weighing, encode
    from xorec.data.io.item_info import add_item_info
    from xorec.data.io.registry import open_object
    from xorec.data.io.values import parse_since

    require_address_space()
    check_scale(weight_scale)
    wanted = {
        "user": user_column,
        "item": item_column,
        "rating": rating_column,
        "weight": weight_column,
        "time": time_column,
        "split": split_column,
    }
    infos = [] if item_info is None else [item_info]
    earliest = None if since is None else parse_since(since)
    limits = make_limits(max_expanded, max_line)
    address = parse_address(source) if isinstance(source, (str, os.PathLike)) else None
    if address is not None:
        opened = open_address(address, wanted, earliest)
    elif isinstance(source, (str, os.PathLike)):
        named = tuple(name for name in wanted.values() if name)
        layout = Layout(separator, has_header, named)
        opened, found = _open_path(Path(source), layout, format, limits)
        infos = infos or found
    else:
        opened = open_object(source, wanted)
    columns = opened.chosen or choose_columns(opened.columns, wanted, opened.name, opened.positions)
    opened = only_since(opened, columns, earliest)
    weighing = Weighing(weight_scale, by_repeats=weight_column == REPEATS and not columns.weight)
    data = encode(opened, columns, RunOptions(threads=threads, progress=progress), weighing)
    for info in infos:
        data = add_item_info(data, info, limits)
    return data


def as_interactions(
    thing: Any,
    what: str = "the data",
    progress: Progress = SILENT,
    **reading: Unpack[ReadOptions],
) -> Interactions:
    """Interactions as they are; a named data set; all else through `read`: a frame, a path, pairs.

    what: what it is, for the message. progress: is told what was guessed and merged. reading: how
    `read` reads it; of no use to what is read already.

    >>> as_interactions([("ann", "tea"), ("bob", "tea")])
    Interactions(2 users x 1 items, 2 pairs)
    >>> as_interactions(7, "the training part")
    Traceback (most recent call last):
    xorec.core.errors.DataError: the training part: a int cannot be read: give a path, or one of: \
a SciPy sparse matrix, a data frame, (user, item) pairs.
    """
    refuse_unknown(reading)
    if isinstance(thing, Interactions):
        refuse_reading(reading, f"{what}: these are Interactions")
        return thing
    from xorec.data.datasets.catalog import CATALOG, load_data

    if isinstance(thing, str) and thing in CATALOG:
        return load_data(thing, progress=progress, **reading)
    try:
        data = read(thing, progress=progress, **reading)
    except DataError as error:
        raise DataError(f"{what}: {error}") from None
    for note in data.notes:
        progress.note(f"{what}: {note}")
    return data


def refuse_unknown(reading: ReadOptions) -> None:
    """Refuse the names that `read` does not have."""
    known = list(ReadOptions.__annotations__)
    for name in reading:
        if name not in known:
            raise OptionError(
                f"there is no option {quoted(name)}: data is read with {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )


def refuse_reading(reading: ReadOptions, what: str) -> None:
    """Refuse to say how to read what is read already."""
    given = ", ".join(name for name, value in reading.items() if value is not None)
    if given:
        raise OptionError(f"{what}, read already: leave {given} out, or give it to xorec.read.")


def only_since(source: Source, columns: Columns, since: int | None) -> Source:
    """The rows from a time on: for that there must be times."""
    if since is not None and columns.time is None:
        raise DataError(
            f"{source.name} has no column of times for since; name it with time_column "
            f"(--time-column); there are: {listed(source.columns)}."
        )
    return replace(source, since=since)


def _open_path(
    path: Path, layout: Layout, format: str | None, limits: Limits
) -> tuple[Source, list[Any]]:
    """A file, or what a folder holds, and the item files found beside it."""
    from xorec.core.paths import what_is_at
    from xorec.data.io.registry import Folder, discover, join_parts, open_file

    is_folder = what_is_at(path, DataError) == "a folder"
    folder = discover(path) if is_folder else Folder((path,), ("",), ())
    opened = [open_file(file, layout, format=format, limits=limits) for file in folder.files]
    if any(source.format == "list" for source in opened):  # short lists alone look like a table
        contents = [source.contents[0] for source in opened]
        opened = [open_file(one.path, format="list", content=one) for one in contents]
    source = opened[0] if len(opened) == 1 else join_parts(str(path), opened, folder.parts)
    return source, list(folder.item_info)
