"""read: interactions from any source; and its options, which every function takes that reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from xorec.core.addresses import parse_address
from xorec.core.errors import DataError, OptionError
from xorec.core.memory import require_address_space
from xorec.core.options import RunOptions
from xorec.core.printable import did_you_mean, listed, quoted
from xorec.core.progress import SILENT, Progress
from xorec.data.interactions import Interactions
from xorec.data.io.columns import REPEATS, ROLES, Columns, choose_columns

if TYPE_CHECKING:
    from xorec.data.io.base import Source
    from xorec.data.io.encode import Weighing


class ReadOptions(TypedDict, total=False):
    """The options of `read`; None is as left out."""

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
    weight_scale: str | None


def read(
    source: Any,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    **options: Unpack[ReadOptions],
) -> Interactions:
    """Interactions from a file, a folder, a database, a data frame, a SciPy matrix, Python pairs.

    source: a path to CSV, TSV, Parquet, JSON lines, MovieLens .dat, RecBole .inter or
      "user item item ..." lines (text also as .gz); a folder with one of these (as
      interactions.parquet, ratings.dat, ... or as train.txt and test.txt); a pandas, polars or
      Arrow frame; a SciPy sparse matrix; rows of (user, item[, rating[, time]]); the address of a
      database with a table or a query: "postgresql://host/shop?table=orders",
      "shop.duckdb?query=SELECT user, item FROM orders", shop.sqlite, "clickhouse://host/shop".
    user_column, item_column, rating_column, weight_column, time_column, split_column: names of
      columns; None guesses, "" means "there is none". Columns without a header are called
      column_1, column_2, ...
    weight_column: how strong a pair is: counts, hours, ...; "repeats", where no column is called
      so, weighs a pair by its number of rows. Weights of repeated pairs are summed.
    weight_scale: "log" (the default; see `data.io.values`) for strengths of a wide range, "none"
      for ready weights.
    format: a name of `data.io.registry.FILE_FORMATS` (csv, parquet, ...), where the guess is
      wrong; so separator and has_header, for the layout of a text file.
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
    require_address_space()
    from xorec.data.io.encode import encode

    reading = Reading(options)
    opened, item_files = reading.opened(source)
    opened, columns = reading.chosen(opened)
    run = RunOptions(threads=threads, progress=progress)
    return reading.described(encode(opened, columns, run, reading.weighing(columns)), item_files)


class Reading:
    """The options of `read`, checked, as opening, encoding and Spark take them.

    wanted: the names of columns asked for, by role.
    """

    def __init__(self, options: ReadOptions) -> None:
        from xorec.data.io.data_file import FileLimits, Layout, byte_count
        from xorec.data.io.values import check_scale, parse_since

        _refuse_unknown(options)
        given: dict[str, Any] = {name: one for name, one in options.items() if one is not None}
        self.wanted = {role: given.get(f"{role}_column") for role in ROLES}
        named = tuple(name for name in self.wanted.values() if name)
        self.layout = Layout(given.get("separator"), given.get("has_header"), named)
        self.format, self.item_info = given.get("format"), given.get("item_info")
        sizes = {"expanded": "max_expanded", "line": "max_line"}
        bounds = {at: byte_count(given[name], name) for at, name in sizes.items() if name in given}
        self.limits = FileLimits(**bounds)
        self.since = parse_since(given["since"]) if "since" in given else None
        self.weight_scale = given.get("weight_scale", "log")
        check_scale(self.weight_scale)

    def opened(self, source: Any) -> tuple[Source, Sequence[Path]]:
        """The Source of what `read` is given; and the files about items beside it."""
        from xorec.data.io.database_source import open_address
        from xorec.data.io.registry import open_object, open_path

        if not isinstance(source, (str, os.PathLike)):
            return open_object(source, self.wanted), ()
        address = parse_address(source)
        if address is not None:
            return open_address(address, self.wanted, self.since), ()
        return open_path(Path(source), self.layout, self.format, self.limits)

    def chosen(self, source: Source) -> tuple[Source, Columns]:
        """The source from `since` on, and the column of each role."""
        columns = source.chosen or choose_columns(
            source.columns, self.wanted, source.name, source.positions
        )
        if self.since is not None and columns.time is None:
            raise DataError(
                f"{source.name} has no column of times for since; name it with time_column "
                f"(--time-column); there are: {listed(source.columns)}."
            )
        return replace(source, since=self.since), columns

    def weighing(self, columns: Columns) -> Weighing:
        """The scale of weights, and whether they are numbers of rows."""
        from xorec.data.io.encode import Weighing

        by_repeats = self.wanted["weight"] == REPEATS and not columns.weight
        return Weighing(self.weight_scale, by_repeats=by_repeats)

    def described(self, data: Interactions, item_files: Sequence[Path] = ()) -> Interactions:
        """The data with names and categories of items; item_files: found beside the data."""
        from xorec.data.io.item_info import add_item_info

        for info in item_files if self.item_info is None else [self.item_info]:
            data = add_item_info(data, info, self.limits)
        return data


def as_interactions(
    thing: Any,
    what: str = "the data",
    progress: Progress = SILENT,
    **reading: Unpack[ReadOptions],
) -> Interactions:
    """Interactions as they are; a named data set; all else through `read`: a frame, a path, pairs.

    what: its name in messages. progress: gets the notes of reading. reading: the options of `read`,
    which Interactions do not take.

    >>> as_interactions([("ann", "tea"), ("bob", "tea")])
    Interactions(2 users x 1 items, 2 pairs)
    >>> as_interactions(7, "the training part")
    Traceback (most recent call last):
    xorec.core.errors.DataError: the training part: a int cannot be read: give a path, or one of: \
a SciPy sparse matrix, a data frame, (user, item) pairs.
    """
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


def refuse_reading(reading: ReadOptions, what: str) -> None:
    """Refuse options for data that is read already."""
    _refuse_unknown(reading)
    given = ", ".join(name for name, value in reading.items() if value is not None)
    if given:
        raise OptionError(f"{what}, read already: leave {given} out, or give it to xorec.read.")


def _refuse_unknown(reading: ReadOptions) -> None:
    known = list(ReadOptions.__annotations__)
    for name in reading:
        if name not in known:
            raise OptionError(
                f"there is no option {quoted(name)}: data is read with {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )
