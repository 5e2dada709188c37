"""What divides the categories in a text like "Comedy, School": guessed, with care.

`|` always does. Another one does where it pays: the labels that come of it are no more than the
texts there were, and the parts of divided texts come in two different texts or more on average.
Genres do; "Action, Adventure & Co" beside "Comedy" does not, nor do paths like "Home/Kitchen/Pans".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
