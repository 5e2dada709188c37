"""Lists: lines of a user and all their items, as LightGCN has them."""

from __future__ import annotations

from xorec.data.io.formats.base import DataFile, FileFormat, Source
from xorec.data.io.formats.separated import guess_separator


def _open(file: DataFile) -> Source:
    import polars as pl

    lines = pl.scan_lines(file.place, glob=False).select(
        pl.col("line").str.extract_all(r"\S+").alias("words")
    )
    words = pl.col("words").list
    frame = lines.filter(words.len() > 1).select(user=words.first(), item=words.slice(1))
    return Source(str(file.path), frame.explode("item"), ("user", "item"), text=True)


def _recognises(file: DataFile) -> bool:
    """Whether lines have so different lengths that they can be no table."""
    if file.layout.separator is not None or guess_separator(file.lines) is not None:
        return False
    lengths = {len(line.split()) for line in file.lines}
    return len(lengths) > 1 or max(lengths) > 4


ITEM_LISTS = FileFormat(
    "list", "lists: `user item item ...` a line, as LightGCN has them", _open, (), _recognises
)
