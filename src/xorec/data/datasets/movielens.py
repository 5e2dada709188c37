"""The item files of MovieLens, in the layouts of its releases, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# the order of the flags in u.item, from u.genre
_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def item_table(name: str, content: bytes) -> pl.DataFrame:
    """The items of a release; several categories are joined by "|", as GroupLens writes them.

    name: u.item (100K: one flag a genre), movies.dat (1M: "::") or movies.csv (20M and later).
    """
    import polars as pl

    if name == "movies.csv":
        table = pl.read_csv(content, infer_schema=False)
        rows = table.select("movieId", "title", "genres").rows()
    elif name == "movies.dat":
        lines = content.decode("latin-1").splitlines()
        rows = [tuple(line.split("::")) for line in lines if line]
    else:
        lines = content.decode("latin-1").splitlines()
        rows = [_flags_to_words(line.split("|")) for line in lines if line]
    schema = {"item": pl.String, "name": pl.String, "category": pl.String}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(pl.col("item").cast(pl.Int64))


def _flags_to_words(fields: list[str]) -> tuple[str, str, str]:
    flags = fields[-len(_GENRES) :]
    words = [genre for genre, flag in zip(_GENRES, flags, strict=True) if flag == "1"]
    return fields[0], fields[1], "|".join(words)
