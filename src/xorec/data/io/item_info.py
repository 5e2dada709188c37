"""Names and categories of items from a second file, frame or database.

The separator of the categories in a text like "Comedy, School" is guessed. `|` always divides.
Another one divides where the labels are no more than the texts, and the parts of divided texts come
in two different texts or more on average: genres do; "Action, Adventure & Co" beside "Comedy" does
not, nor do paths like "Home/Kitchen/Pans".
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from xorec.core.addresses import Address, parse_address
from xorec.core.errors import DataError
from xorec.core.printable import listed, quoted
from xorec.data.categories import Categories
from xorec.data.interactions import Interactions
from xorec.data.io.base import NotUtf8Error, Source, polars_errors
from xorec.data.io.columns import guess
from xorec.data.io.data_file import DataFile, FileLimits
from xorec.data.io.database_source import open_address
from xorec.data.io.objects import as_frame, frame_columns, open_frame
from xorec.data.io.registry import open_file
from xorec.data.text import Text, offsets_of

_GUESSED = (",", ";", "/")
_TEXTS_A_PART = 2.0
"""In how many different texts a part of a divided text must come, on average."""


def guess_separator(texts: pl.Series) -> str | None:
    """The separator of these texts, if any.

    >>> import polars as pl
    >>> guess_separator(pl.Series(["Comedy, School", "Drama, School", "Comedy", "Drama"]))
    ','
    >>> guess_separator(pl.Series(["Action, Adventure & Co", "Comedy", "Drama"]))
    """
    texts = texts.drop_nulls().unique()
    if _has(texts, "|"):
        return "|"
    fewest, best = len(texts), None
    for separator in _GUESSED:
        divided = texts.str.contains(separator, literal=True)
        table = pl.DataFrame({"label": texts, "divided": divided}).with_row_index("row")
        table = table.with_columns(pl.col("label").str.split(separator)).explode("label")
        table = table.with_columns(pl.col("label").str.strip_chars())
        table = table.filter(pl.col("label") != "").unique(["row", "label"])
        found = table.group_by("label").agg(texts=pl.len(), divided=pl.col("divided").any())
        counts, labels = found.filter("divided")["texts"], len(found)
        texts_a_part = float(counts.sum()) / max(len(counts), 1)
        if labels <= fewest and texts_a_part >= _TEXTS_A_PART:
            fewest, best = labels - 1, separator
    return best


def _has(texts: pl.Series, separator: str) -> bool:
    return texts.str.contains(separator, literal=True).any()


_NO_CATEGORY = ("", "(no genres listed)")


def add_item_info(
    data: Interactions,
    info: Any,
    limits: FileLimits = FileLimits(),  # noqa: B008 - immutable
) -> Interactions:
    """The same interactions with names and categories from a file or frame.

    Columns: the item, a name or title, a category. Categories may be in several rows of an item,
    lists, or divided by what `separators` guesses. Items that the file does not know get the name
    "" and no category.
    """
    source, table = _load(info, limits)
    item, name, category = _columns(source)
    values = {role: column for role, column in (("name", name), ("category", category)) if column}
    known = table.select(
        pl.col(item).cast(pl.String).alias("key"), *(pl.col(c).alias(r) for r, c in values.items())
    )
    rows = np.arange(data.n_items, dtype=np.int32)
    text = pl.Series([str(raw) for raw in data.items], dtype=pl.String)
    keys = pl.DataFrame({"key": text, "row": rows})
    matched = known.join(keys, on="key", how="inner", maintain_order="left")
    if not len(matched):
        first = quoted(known["key"][0]) if len(known) else "it has none"
        raise DataError(
            f"{source.name}: none of its items ({first}, ...) is among the items of "
            f"the interactions ({quoted(data.items[0])}, ...); check that both use the same ids."
        )
    guessed = ", ".join(f"{role} = {c}" for role, c in (("item", item), *values.items()))
    file = Path(source.name).name if source.stream is None else source.name
    notes = [*source.notes, f"{file}: columns guessed: {guessed}"]
    if name:
        data = replace(data, names=_names(matched, data.n_items))
        notes.append(f"names for {matched['row'].n_unique():,} of {data.n_items:,} items")
    if category:
        separator, doubts = _separator(known["category"], category in source.sequences)
        categories = _categories(matched, data.n_items, separator)
        data = replace(data, categories=categories)
        if separator is not None:
            notes.append(f"categories split at {separator!r}: {len(categories.labels):,}")
        if doubts:
            signs = " and ".join(map(repr, doubts))
            notes.append(f"{signs} in categories taken as part of their names; '|' divides them")
        with_one = int(np.count_nonzero(np.diff(categories.indptr)))
        notes.append(
            f"{len(categories.labels):,} categories for {with_one:,} of {data.n_items:,} items"
        )
    return data.noted(*notes)


def _load(info: Any, limits: FileLimits) -> tuple[Source, pl.DataFrame]:
    if not isinstance(info, (str, Path)) and (frame := as_frame(info)) is not None:
        return _collected(open_frame(frame, frame_columns(frame)))
    if (address := parse_address(info)) is not None:
        return _of_database(address)
    file = DataFile(Path(info), limits)
    try:
        return _collected(open_file(file))
    except NotUtf8Error:  # MovieLens' movies.dat, for one
        file.recode()
        source = open_file(file)
        note = f"{file.path.name} is not UTF-8: taken as Latin-1"
        return _collected(replace(source, notes=(*source.notes, note)))


def _of_database(address: Address) -> tuple[Source, pl.DataFrame]:
    """The columns in use of a table or a query."""
    source = open_address(address, {}, roles=("item", "name"))
    assert source.stream is not None
    columns = zip(("item", "name", "category"), _columns(source), strict=True)
    in_use = {role: column for role, column in columns if column}
    batches = list(source.stream(in_use))
    if not batches:
        raise DataError(f"{source.name} has no rows: give a table or a query with items.")
    return source, pl.concat(batches, how="vertical_relaxed").rename(in_use)


def _collected(source: Source) -> tuple[Source, pl.DataFrame]:
    with polars_errors(source.name):
        return source, source.frame.collect()


def _columns(source: Source) -> tuple[str, str | None, str | None]:
    """The columns of item, name and category by their names or, without header, their order."""
    names = source.columns
    if source.positions:
        item, name, category = (*names, None, None)[:3]
        return str(item), name, category
    category = guess("category", names)
    item = guess("item", names) or next((n for n in names if n.lower() == "id"), names[0])
    others = [n for n in names if n not in (item, category)]
    endings = ("name", "title")  # "Game Name", "movie_title"
    like_names = (n for n in others if n.lower().endswith(endings))
    name = guess("name", others) or next(like_names, None)
    if name is None and category is None:
        raise DataError(
            f"{source.name}: no column for names or categories; there are: {listed(names)}. "
            "Call them name and category."
        )
    return item, name, category


def _names(matched: pl.DataFrame, n_items: int) -> Text:
    """The first name of each item."""
    first = matched.select("row", pl.col("name").cast(pl.String)).drop_nulls()
    first = first.unique("row", keep="first")
    names = [""] * n_items
    for row, name in first.iter_rows():
        names[row] = name
    return Text.pack(names)


def _separator(values: pl.Series, by_blanks: bool) -> tuple[str | None, list[str]]:
    """The separator of the categories of one value, and others that might have been meant so."""
    if by_blanks:
        return " ", []
    divided = isinstance(values.dtype, pl.List)
    while isinstance(values.dtype, pl.List):
        values = values.explode()
    texts = values.cast(pl.String)
    separator = guess_separator(texts)
    if divided:  # a list has said what its categories are
        return ("|" if separator == "|" else None), []
    return separator, [] if separator else [one for one in _GUESSED if _has(texts, one)]


def _categories(matched: pl.DataFrame, n_items: int, separator: str | None) -> Categories:
    """All categories of each item, each once, ascending; labels are sorted."""
    table = matched.select("row", label="category")
    while isinstance(table.schema["label"], pl.List):
        table = table.explode("label")
    table = table.with_columns(pl.col("label").cast(pl.String))
    if separator is not None:
        table = table.with_columns(pl.col("label").str.split(separator)).explode("label")
    table = table.with_columns(pl.col("label").str.strip_chars())
    table = table.filter(~pl.col("label").is_in(_NO_CATEGORY)).drop_nulls().unique()
    labels = table["label"].unique().sort()
    table = table.with_columns(code=pl.col("label").rank("dense") - 1).sort("row", "code")
    indptr = offsets_of(np.bincount(table["row"].to_numpy(), minlength=n_items))
    codes = table["code"].to_numpy().astype(np.int32)
    return Categories(Text.pack(labels.to_list()), indptr, codes)
