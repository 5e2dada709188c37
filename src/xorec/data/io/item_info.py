"""What a second file tells of the items: their names and categories.

What divides the categories in a text like "Comedy, School": guessed, with care.

`|` always does. Another one does where it pays: the labels that come of it are no more than the
texts there were, and the parts of divided texts come in two different texts or more on average.
Genres do; "Action, Adventure & Co" beside "Comedy" does not, nor do paths like "Home/Kitchen/Pans".
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.addresses import Address, parse_address
from xorec.core.errors import DataError
from xorec.core.printable import listed, quoted
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.base import NotUtf8Error, Source, polars_errors
from xorec.data.io.columns import guess
from xorec.data.io.content import Content, Limits
from xorec.data.io.database_source import open_address
from xorec.data.io.objects import as_frame, frame_columns, open_frame
from xorec.data.io.registry import open_file
from xorec.data.text import Text

if TYPE_CHECKING:
    import polars as pl


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
    if _has(texts, "|").any():
        return "|"
    fewest, best = len(texts), None
    for separator in _GUESSED:
        labels, texts_a_part = _divided(texts, separator)
        if labels <= fewest and texts_a_part >= _TEXTS_A_PART:
            fewest, best = labels - 1, separator
    return best


def left_in_names(texts: pl.Series) -> list[str]:
    """What might divide these texts and was not taken for it.

    >>> import polars as pl
    >>> left_in_names(pl.Series(["Action, Adventure & Co", "Comedy"]))
    [',']
    """
    return [separator for separator in _GUESSED if _has(texts, separator).any()]


def _has(texts: pl.Series, separator: str) -> pl.Series:
    return texts.str.contains(separator, literal=True)


def _divided(texts: pl.Series, separator: str) -> tuple[int, float]:
    """(labels in all, different texts that a part of a divided text comes in, on average)."""
    import polars as pl

    table = pl.DataFrame({"text": texts, "divided": _has(texts, separator)}).with_row_index("row")
    table = table.with_columns(pl.col("text").str.split(separator)).explode("text")
    table = table.with_columns(pl.col("text").str.strip_chars())
    table = table.filter(pl.col("text") != "").unique(["row", "text"])
    labels = table.group_by("text").agg(texts=pl.len(), of_divided=pl.col("divided").any())
    counts = labels.filter("of_divided")["texts"]
    return len(labels), float(counts.sum()) / max(len(counts), 1)


_NO_CATEGORY = ("", "(no genres listed)")


def add_item_info(
    data: Interactions,
    info: Any,
    limits: Limits = Limits(),  # noqa: B008 - immutable
) -> Interactions:
    """The same interactions with names and categories from a file or frame.

    Columns: the item, a name or title, a category. Categories may be in several rows of an item,
    lists, or divided by what `separators` guesses. Items that the file does not know get the name
    "" and no category.
    """
    import polars as pl

    source, table = _load(info, limits)
    item, name, category = _columns(source)
    values = {role: column for role, column in (("name", name), ("category", category)) if column}
    known = table.select(
        pl.col(item).cast(pl.String).alias("key"), *(pl.col(c).alias(r) for r, c in values.items())
    )
    keys = _rows_by_text(data.items)
    matched = known.join(keys, on="key", how="inner", maintain_order="left")
    if not len(matched):
        first = quoted(known["key"][0]) if len(known) else "it has none"
        raise DataError(
            f"{source.name}: none of its items ({first}, ...) is among the items of "
            f"the interactions ({quoted(data.items[0])}, ...); check that both use the same ids."
        )
    guessed = ", ".join(f"{role} = {c}" for role, c in (("item", item), *values.items()))
    notes = [*source.notes, f"{_short_name(source)}: columns guessed: {guessed}"]
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


def _short_name(source: Source) -> str:
    return Path(source.name).name if source.stream is None else source.name


def _rows_by_text(items: Ids) -> pl.DataFrame:
    """The ids as text beside their rows, to join with what another file calls them."""
    import polars as pl

    keys = pl.Series([str(raw) for raw in items], dtype=pl.String)
    return pl.DataFrame({"key": keys, "row": np.arange(len(items), dtype=np.int32)})


def _load(info: Any, limits: Limits) -> tuple[Source, pl.DataFrame]:
    address = parse_address(info) if isinstance(info, (str, Path)) else None
    if address is not None:
        return _of_database(address)
    frame = None if isinstance(info, (str, Path)) else as_frame(info)
    if frame is not None:
        source = open_frame(frame, frame_columns(frame))
        return source, source.frame.collect()
    path = Path(info)
    content = Content(path, limits)
    try:
        return _collected(open_file(path, content=content))
    except NotUtf8Error:  # MovieLens' movies.dat, for one
        content.recode()
        source = open_file(path, content=content)
        note = f"{path.name} is not UTF-8: taken as Latin-1"
        return _collected(replace(source, notes=(*source.notes, note)))


def _of_database(address: Address) -> tuple[Source, pl.DataFrame]:
    """The columns in use of a table or a query."""
    import polars as pl

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
    """The columns of item, name and category, by their names or, without header, their places."""
    names = source.columns
    if source.positions:
        item, name, category = (*names, None, None)[:3]
        return str(item), name, category
    category = guess("category", names)
    item = guess("item", names) or next((n for n in names if n.lower() == "id"), names[0])
    others = [n for n in names if n not in (item, category)]
    name = guess("name", others) or next((n for n in others if _is_of_names(n)), None)
    if name is None and category is None:
        raise DataError(
            f"{source.name}: no column for names or categories; there are: {listed(names)}. "
            "Call them name and category."
        )
    return item, name, category


def _is_of_names(column: str) -> bool:
    """Whether a column such as "Game Name" or "movie_title" has the names of items."""
    return column.lower().endswith(("name", "title"))


def _names(matched: pl.DataFrame, n_items: int) -> Text:
    """The first name of each item."""
    import polars as pl

    first = matched.select("row", pl.col("name").cast(pl.String)).drop_nulls()
    first = first.unique("row", keep="first")
    names = [""] * n_items
    for row, name in first.iter_rows():
        names[row] = name
    return Text.pack(names)


def _separator(values: pl.Series, by_blanks: bool) -> tuple[str | None, list[str]]:
    """What divides the categories of one value, if anything, and what might have been meant to."""
    import polars as pl

    if by_blanks:
        return " ", []
    divided = isinstance(values.dtype, pl.List)
    while isinstance(values.dtype, pl.List):
        values = values.explode()
    texts = values.cast(pl.String)
    separator = guess_separator(texts)
    if divided:  # a list has said what its categories are
        return ("|" if separator == "|" else None), []
    return separator, [] if separator else left_in_names(texts)


def _categories(matched: pl.DataFrame, n_items: int, separator: str | None) -> Categories:
    """All categories of each item, each once, ascending; labels are sorted."""
    import polars as pl

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
    indptr = np.zeros(n_items + 1, dtype=np.int64)
    np.cumsum(np.bincount(table["row"].to_numpy(), minlength=n_items), out=indptr[1:])
    return Categories(
        Text.pack(labels.to_list()), indptr, table["code"].to_numpy().astype(np.int32)
    )
