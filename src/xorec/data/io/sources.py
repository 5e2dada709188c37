"""Every file format as one thing: a polars LazyFrame with named columns, read as it streams by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.errors import DataError
from xorec.data.ids import Ids
from xorec.data.io.json_fields import json_object, json_type
from xorec.data.io.sniff import WHITESPACE, Shape, is_number, sniff, split_fields, unquote

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Source:
    """A table that has not been read yet.

    name: what messages call it. text: values come as text, so whole-number ids become integers,
    except in the columns `quoted`. positions: roles of the columns where there is no header.
    sequences: columns of words divided by blanks. known_ids: the ids behind columns that hold
    row numbers already. is_list: lines of a user and all their items. scan: the frame of a CSV
    file anew, these columns parsed as these types, which is quicker than to make text of them.
    """

    name: str
    frame: pl.LazyFrame
    columns: tuple[str, ...]
    text: bool = False
    quoted: frozenset[str] = frozenset()
    positions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sequences: frozenset[str] = frozenset()
    known_ids: Mapping[str, Ids] = field(default_factory=dict)
    is_list: bool = False
    scan: Callable[[Mapping[str, Any]], pl.LazyFrame] | None = None


def open_file(
    path: Path,
    *,
    format: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    named: tuple[str, ...] = (),
    content: bytes | None = None,
) -> Source:
    """A file as a Source; its format by name and content unless given.

    content: what is in the file, where it had to be converted first.
    """
    shape = sniff(path, format, separator, has_header, named)
    place: Path | BytesIO = path if content is None else BytesIO(content)
    with polars_errors(str(path)):
        if shape.format == "parquet":
            return _parquet(path)
        if shape.format == "jsonl":
            return _json_lines(path, shape)
        if shape.format == "list":
            return _lists(path)
        if len(shape.separator) == 1 and shape.separator != WHITESPACE:
            return _csv(path, place, shape)
        return _split_lines(path, place, shape)


def joined(name: str, sources: Sequence[Source], parts: Sequence[str]) -> Source:
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


def _parquet(path: Path) -> Source:
    import polars as pl

    frame = pl.scan_parquet(path)
    return Source(str(path), frame, tuple(frame.collect_schema().names()))


def _csv(path: Path, place: Path | BytesIO, shape: Shape) -> Source:
    frame = _scan_csv(place, shape, {})
    raw = frame.collect_schema().names()
    names = [name.split(":")[0] if shape.format == "inter" else name for name in raw]
    sequences = frozenset(name.split(":")[0] for name in raw if name.endswith(":token_seq"))
    of_raw = dict(zip(raw, names, strict=True))  # user_id:token -> user_id

    def scan(types: Mapping[str, Any]) -> pl.LazyFrame:
        wanted = {column: types[name] for column, name in of_raw.items() if name in types}
        return _scan_csv(place, shape, wanted).rename(of_raw)

    table = _table(path, frame.rename(of_raw), names, shape)
    return replace(table, sequences=sequences, scan=scan)


def _scan_csv(place: Path | BytesIO, shape: Shape, types: Mapping[str, Any]) -> pl.LazyFrame:
    """A CSV file, each column as text unless it has one of the types."""
    import polars as pl

    return pl.scan_csv(
        place,
        separator=shape.separator,
        has_header=shape.has_header,
        infer_schema=False,
        schema_overrides=types,
        quote_char=None if shape.format == "inter" else '"',
    )


def _split_lines(path: Path, place: Path | BytesIO, shape: Shape) -> Source:
    """A table whose separator is longer than one character, or any run of blanks."""
    import polars as pl

    width = len(split_fields(shape.lines[0], shape.separator))
    line = pl.col("line")
    blanks = shape.separator == WHITESPACE
    fields = line.str.extract_all(r"\S+") if blanks else line.str.split(shape.separator)
    frame = pl.scan_lines(place).filter(line.str.strip_chars() != "").select(fields.alias("f"))
    if shape.has_header:
        names = [unquote(field) for field in split_fields(shape.lines[0], shape.separator)]
        frame = frame.slice(1)
    else:
        names = [f"column_{place + 1}" for place in range(width)]
    columns = {name: pl.col("f").list.get(at, null_on_oob=True) for at, name in enumerate(names)}
    return _table(path, frame.select(**columns), names, shape)


def _table(path: Path, frame: pl.LazyFrame, names: list[str], shape: Shape) -> Source:
    quoted = frozenset(names[place] for place in shape.quoted if place < len(names))
    if len(names) < 2:
        raise DataError(
            f"{path} has one column only ({names[0]}): interactions need two, user and item; "
            "give separator if it is another one."
        )
    if shape.has_header:
        return Source(str(path), frame, tuple(names), text=True, quoted=quoted)
    rows = [split_fields(line, shape.separator) for line in shape.lines[:100]]
    positions = _positions(rows)
    note = "no header: columns taken by position"
    return Source(str(path), frame, tuple(names), True, quoted, positions, (note,))


def _positions(rows: list[list[str]]) -> tuple[str, ...]:
    """The roles of columns without names: user, item, then numbers: small ratings, large times."""
    roles = ["user", "item"]
    for place in range(2, min(4, min(len(row) for row in rows))):
        fields = [unquote(row[place]) for row in rows]
        if not all(is_number(field) for field in fields):
            break
        role = "time" if min(float(field) for field in fields) > 1e8 else "rating"
        if role in roles:
            break
        roles.append(role)
    return tuple(roles)


def _lists(path: Path) -> Source:
    """Lines of a user and all their items."""
    import polars as pl

    words = pl.scan_lines(path).select(pl.col("line").str.extract_all(r"\S+").alias("words"))
    words = words.filter(pl.col("words").list.len() > 1)
    user, items = pl.col("words").list.first(), pl.col("words").list.slice(1)
    frame = words.select(user=user, item=items).explode("item")
    return Source(str(path), frame, ("user", "item"), text=True, is_list=True)


def _json_lines(path: Path, shape: Shape) -> Source:
    """Objects, one a line; the types of the fields as in the first lines."""
    import polars as pl

    if shape.lines[0].lstrip().startswith("["):
        raise DataError(f"{path} is one JSON array: write one object a line (JSON lines).")
    fields: dict[str, list[Any]] = {}
    for number, line in enumerate(shape.lines[:1000], start=1):
        for name, value in json_object(line, path, number).items():
            fields.setdefault(name, []).append(value)
    schema = {name: json_type(values) for name, values in fields.items()}
    schema = {name: dtype for name, dtype in schema.items() if dtype is not None}
    frame = pl.scan_ndjson(path, schema=schema)
    return Source(str(path), frame, tuple(schema))
