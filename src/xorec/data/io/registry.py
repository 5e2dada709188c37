"""The registry of formats, and how a file, a folder or an object is opened with one of them.

A new format is its file and one line here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from xorec.core.errors import DataError, OptionError
from xorec.core.paths import reason, what_is_at
from xorec.core.printable import listed, quoted
from xorec.data.io.base import FileFormat, ObjectFormat, Source, Wanted, polars_errors
from xorec.data.io.data_file import DataFile, FileLimits, Layout, ending_of
from xorec.data.io.objects import FRAMES, MATRICES, PAIR_ROWS
from xorec.data.io.separated import CSV, DAT, INTER, ITEM_LISTS, TSV
from xorec.data.io.typed_tables import JSON_LINES, PARQUET

FILE_FORMATS: dict[str, FileFormat] = {
    one.name: one for one in (CSV, TSV, INTER, JSON_LINES, ITEM_LISTS, DAT, PARQUET)
}
"""By name."""
_LAST = (ITEM_LISTS, DAT)
"""These take what no other text format recognises."""

OBJECT_FORMATS: tuple[ObjectFormat, ...] = (MATRICES, FRAMES, PAIR_ROWS)
"""Python objects, in the order in which they are asked; PAIR_ROWS takes what can be iterated."""

_BY_PRECEDENCE = sorted(FILE_FORMATS.values(), key=lambda one: (one.is_text, one in _LAST))
"""Content is shown to them in this order: first those that are no text, in the order above."""
ENDINGS = (*(ending for one in _BY_PRECEDENCE for ending in one.endings), ".txt")
"""Of files that hold data, the preferred first; .txt may be any text."""


def open_file(file: DataFile, format: str | None = None) -> Source:
    """A file as a Source; its format by name and content unless given."""
    chosen = format_of(file, format)
    if chosen.is_text:
        file.require_text()
    with polars_errors(str(file.path)):
        source = chosen.open(file)
    source.require_short_names()
    return replace(source, format=chosen.name, files=(file,), text_file=chosen.is_text)


def format_of(file: DataFile, format: str | None = None) -> FileFormat:
    """The format of a file: as given, else by the ending of its name, else by its content."""
    if format is not None and format not in FILE_FORMATS:
        known = ", ".join(FILE_FORMATS)
        raise OptionError(f"format {quoted(format)} is not known: use one of {known}.")
    if file.layout.separator == "":
        raise OptionError("separator is empty: give one or more characters, or leave it out.")
    file.require_something()
    if format is not None:
        return FILE_FORMATS[format]
    ending = ending_of(file.path)
    by_name = (one for one in _BY_PRECEDENCE if ending in one.endings)
    by_content = (one for one in _BY_PRECEDENCE if one.recognises and one.recognises(file))
    return next(by_name, None) or next(by_content)


def open_object(thing: Any, wanted: Wanted) -> Source:
    """A Python object as a Source."""
    for one in OBJECT_FORMATS:
        if one.recognises(thing):
            with polars_errors(one.name):
                return one.open(thing, wanted)
    kinds = ", ".join(one.name for one in OBJECT_FORMATS)
    raise DataError(f"a {type(thing).__name__} cannot be read: give a path, or one of: {kinds}.")


def join_parts(name: str, sources: Sequence[Source], parts: Sequence[str]) -> Source:
    """Files that are the parts of a split as one Source with the column "split"."""
    first = sources[0]
    for source in sources[1:]:
        if source.columns != first.columns:
            raise DataError(
                f"{source.name} has the columns {listed(source.columns)} and {first.name} "
                f"has {listed(first.columns)}: give them the same columns."
            )
    pairs = zip(sources, parts, strict=True)
    frames = [source.frame.with_columns(split=pl.lit(part)) for source, part in pairs]
    roles = first.positions + ("",) * (len(first.columns) - len(first.positions))
    positions = (*roles, "split") if first.positions else ()
    return replace(
        first,
        name=name,
        frame=pl.concat(frames),
        columns=(*first.columns, "split"),
        positions=positions,
        scan=None,
        files=tuple(file for source in sources for file in source.files),
        notes=(*first.notes, f"the split of the folder: {', '.join(parts)}"),
        part_files=tuple(Path(source.name).name for source in sources),
    )


_ONE_FILE = ("interactions", "ratings", "reviews")
_PARTS = {"train": ("train",), "validation": ("validation", "valid", "val"), "test": ("test",)}
_ITEM_FILES = ("items", "item_categories", "item_info", "movies")


def open_path(
    path: Path, layout: Layout, format: str | None, limits: FileLimits
) -> tuple[Source, tuple[Path, ...]]:
    """A file, or what a folder holds; and the item files found beside it."""
    is_folder = what_is_at(path, DataError) == "a folder"
    folder = discover(path) if is_folder else Folder((path,))
    files = [DataFile(file, limits, layout) for file in folder.files]
    opened = [open_file(file, format) for file in files]
    if any(source.format == "list" for source in opened):  # short lists alone look like a table
        opened = [open_file(file, "list") for file in files]
    source = opened[0] if len(opened) == 1 else join_parts(str(path), opened, folder.parts)
    return source, folder.item_info


@dataclass(frozen=True)
class Folder:
    """The files of a folder; `parts` runs parallel to `files`, "" where there is one file only."""

    files: tuple[Path, ...]
    parts: tuple[str, ...] = ("",)
    item_info: tuple[Path, ...] = ()


def discover(folder: Path) -> Folder:
    """Find the data of a folder by the names that data sets use."""
    try:
        names = {path.name: path for path in folder.iterdir() if path.is_file()}
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be read: {reason(error)}.") from None

    def find(*stems: str) -> Path | None:
        wanted = (f"{stem}{end}{gz}" for stem in stems for end in ENDINGS for gz in ("", ".gz"))
        return next((names[name] for name in wanted if name in names), None)

    def only(suffix: str) -> Path | None:
        found = [path for path in names.values() if path.suffix == suffix]
        return found[0] if len(found) == 1 else None

    whole = find(*_ONE_FILE) or only(".inter") or names.get("u.data")
    about_items = (*(find(name) for name in _ITEM_FILES), only(".item"))
    item_info = tuple(path for path in about_items if path is not None)
    if whole:
        return Folder((whole,), item_info=item_info)
    parts = {part: file for part, stems in _PARTS.items() if (file := find(*stems))}
    if "train" in parts and "test" in parts:
        return Folder(tuple(parts.values()), tuple(parts), item_info)
    raise DataError(
        f"the folder {folder} holds no data: it needs interactions{ENDINGS[0]} (or ratings, or "
        f"{', '.join(ENDINGS[1:])}), one .inter file, or train.txt and test.txt; or name a file."
    )
