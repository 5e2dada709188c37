"""Source: whatever holds interactions, as one thing: a table with named columns, not read yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.columns import Columns

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Source:
    """A table that has not been read yet.

    name: what messages call it. format: the name of its file format. text: values come as text,
    so whole-number ids become integers, except in the columns `quoted`. positions: roles of the
    columns where there is no header. sequences: columns of words divided by blanks. known_ids:
    the ids behind columns that hold row numbers already. scan: the frame of a CSV file anew,
    these columns parsed as these types, which is quicker than to make text of them. chosen: the
    columns in use, where there is nothing left to choose.
    """

    name: str
    frame: pl.LazyFrame
    columns: tuple[str, ...]
    format: str = ""
    text: bool = False
    quoted: frozenset[str] = frozenset()
    positions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sequences: frozenset[str] = frozenset()
    known_ids: Mapping[str, Ids] = field(default_factory=dict)
    scan: Callable[[Mapping[str, Any]], pl.LazyFrame] | None = None
    chosen: Columns | None = None


def join_parts(name: str, sources: Sequence[Source], parts: Sequence[str]) -> Source:
    """Files that are the parts of a split as one Source with the column "split"."""
    import polars as pl

    first = sources[0]
    for source in sources[1:]:
        if source.columns != first.columns:
            raise DataError(
                f"{source.name} has the columns {', '.join(source.columns)} and {first.name} "
                f"has {', '.join(first.columns)}: give them the same columns."
            )
    frames = [
        source.frame.with_columns(split=pl.lit(part))
        for source, part in zip(sources, parts, strict=True)
    ]
    roles = first.positions + ("",) * (len(first.columns) - len(first.positions))
    positions = (*roles, "split") if first.positions else ()
    return replace(
        first,
        name=name,
        frame=pl.concat(frames),
        columns=(*first.columns, "split"),
        positions=positions,
        scan=None,
        notes=(*first.notes, f"the split of the folder: {', '.join(parts)}"),
    )


class NotUtf8Error(DataError):
    """Text in another encoding."""


@contextmanager
def polars_errors(name: str) -> Iterator[None]:
    """Turn what polars says about a file into one line that says what to do."""
    import polars as pl

    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataError(f"{name} is empty: give a file with interactions.") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        if "utf-8" in reason.lower() or "utf8" in reason.lower():
            raise NotUtf8Error(
                f"{name} is not UTF-8 text: convert it, for example: iconv -f latin1 -t utf-8"
            ) from None
        if "more fields" in reason:
            way_out = "some line has more fields than the first; mend it or give separator"
        elif "cannot parse" in reason:
            way_out = "a column mixes kinds of values; use one kind (for example strings) for all"
        else:
            way_out = "the file is damaged or of another format; say which with format"
        raise DataError(f"{name} cannot be read ({reason}): {way_out}.") from None
