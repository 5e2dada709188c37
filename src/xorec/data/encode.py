"""A Source read batch by batch into compact arrays: the one pass over the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.data.coding import Coder, HashCollision
from xorec.data.columns import Columns
from xorec.data.interactions import Interactions
from xorec.data.merge import merge_pairs
from xorec.data.sources import Source, polars_errors
from xorec.data.values import Place, parts_of, ratings_of, times_of
from xorec.errors import DataError
from xorec.progress import SILENT, Progress

if TYPE_CHECKING:
    import polars as pl

BATCH = 100_000
"""Rows a batch: small enough to stay in the cache, large enough to cost nothing in Python."""


@dataclass
class _Pass:
    """What one pass over the data gathers, batch by batch."""

    users: Coder = field(default_factory=Coder)
    items: Coder = field(default_factory=Coder)
    user_codes: list[npt.NDArray[np.int32]] = field(default_factory=list)
    item_codes: list[npt.NDArray[np.int32]] = field(default_factory=list)
    values: dict[str, list[npt.NDArray[Any]]] = field(default_factory=dict)
    rows: int = 0
    blank: int = 0


def encode(source: Source, columns: Columns, progress: Progress = SILENT) -> Interactions:
    """Read a source: distinct pairs by rows, rows by sorted ids; notes say what was merged."""
    for seed in range(8):
        try:
            return _interactions(source, columns, _gather(source, columns, seed, progress))
        except HashCollision:
            continue
    raise DataError(f"{source.name}: the ids defeat eight hash functions; is this a real file?")


def _gather(source: Source, columns: Columns, seed: int, progress: Progress) -> _Pass:
    gathered = _Pass()
    with polars_errors(source.name), progress.task(f"reading {source.name}") as task:
        for batch in _batches(source.frame, columns, seed):
            _take(batch, source, columns, gathered)
            task.advance(len(batch), rows=f"{gathered.rows:,}")
    if gathered.rows == gathered.blank:
        raise DataError(f"{source.name} has no rows: give a file with interactions.")
    return gathered


def _batches(frame: pl.LazyFrame, columns: Columns, seed: int) -> Iterator[pl.DataFrame]:
    """The columns in use, and the hashes of the ids, as they stream by."""
    import polars as pl

    names = [columns.user, columns.item, columns.rating, columns.time, columns.split]
    roles = ("user", "item", "rating", "time", "split")
    picked = [pl.col(n).alias(r) for r, n in zip(roles, names, strict=True) if n is not None]
    schema = frame.collect_schema()
    plain = [
        pl.col(r).cast(pl.String)
        for r, n in (("user", columns.user), ("item", columns.item))
        if schema[n] in (pl.Categorical, pl.Enum)
    ]
    hashes = [pl.col(role).hash(seed).alias(f"{role} hash") for role in ("user", "item")]
    wanted = frame.select(picked).with_columns(plain).with_columns(hashes)
    return wanted.collect_batches(chunk_size=BATCH, maintain_order=True)


def _take(batch: pl.DataFrame, source: Source, columns: Columns, gathered: _Pass) -> None:
    """Add one batch."""
    size = len(batch)
    if source.text:
        batch = _without_blank_lines(batch)
        gathered.blank += size - len(batch)
    for role, coder, codes in (
        ("user", gathered.users, gathered.user_codes),
        ("item", gathered.items, gathered.item_codes),
    ):
        place = Place(source.name, getattr(columns, role), gathered.rows)
        _refuse_empty(batch[role], place, role)
        codes.append(coder.add(batch[role], batch[f"{role} hash"].to_numpy()))
    for role, convert in (("rating", ratings_of), ("time", times_of), ("split", parts_of)):
        name = getattr(columns, role)
        if name is not None:
            place = Place(source.name, name, gathered.rows)
            # a copy, so that the batch itself can go
            gathered.values.setdefault(role, []).append(convert(batch[role], place).copy())
    gathered.rows += size


def _without_blank_lines(batch: pl.DataFrame) -> pl.DataFrame:
    """Polars reads a blank line as a row of nulls."""
    import polars as pl

    if not (batch["user"].null_count() and batch["item"].null_count()):
        return batch
    values = [name for name in batch.columns if not name.endswith(" hash")]
    return batch.filter(~pl.all_horizontal(pl.col(values).is_null()))


def _refuse_empty(ids: pl.Series, place: Place, role: str) -> None:
    empty = ids.is_null()
    if ids.dtype.is_float():
        empty = empty | ids.is_nan()
    if empty.any():
        offset = int(empty.arg_true()[0])
        raise DataError(
            f"{place.row(offset)}: the {role} is empty; fill it in or drop that row, or name "
            f"another column with {role}_column."
        )


def _interactions(source: Source, columns: Columns, gathered: _Pass) -> Interactions:
    users, user_rows = _rows(source, columns.user, "user", gathered.users, gathered.user_codes)
    items, item_rows = _rows(source, columns.item, "item", gathered.items, gathered.item_codes)
    values = {role: _joined(pieces) for role, pieces in gathered.values.items()}
    times, parts, ratings = values.get("time"), values.get("split"), values.get("rating")
    merged = merge_pairs(user_rows, item_rows, len(users), len(items), times, parts)
    notes = list(columns.notes)
    if gathered.blank:
        notes.append(f"{gathered.blank:,} blank lines skipped")
    if merged.repeats:
        which = "latest" if times is not None else "last"
        notes.append(f"{merged.repeats:,} repeated pairs merged, the {which} kept")
    if merged.moved:
        notes.append(f"{merged.moved:,} pairs in several parts kept in the first (train)")
    order = merged.order
    return Interactions(
        users,
        items,
        merged.indptr,
        item_rows[order],
        times=None if times is None else times[order],
        ratings=None if ratings is None else ratings[order],
        parts=None if parts is None else parts[order],
        notes=(*source.notes, *notes),
    )


def _rows(
    source: Source, column: str, role: str, coder: Coder, codes: list[npt.NDArray[np.int32]]
) -> tuple[Any, npt.NDArray[np.int32]]:
    """The sorted ids of a column and the row of every pair; `codes` is used up."""
    missing = coder.missing_word() if source.text else None
    if missing is not None:
        code, word = missing
        row = int(np.flatnonzero(_joined(list(codes)) == code)[0])
        place = Place(source.name, column).row(row)
        raise DataError(
            f"{place}: the {role} is {word!r}, a missing value; fill it in or drop that row "
            "(an id that is really called so can come in a data frame)."
        )
    ids, row_of_code = coder.finish(whole_numbers=source.text and column not in source.quoted)
    for at, piece in enumerate(codes):
        codes[at] = row_of_code[piece]
    return ids, _joined(codes)


def _joined(pieces: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """All pieces as one array; the list is emptied as it goes, so memory is held once."""
    whole = np.empty(sum(len(piece) for piece in pieces), dtype=pieces[0].dtype)
    end = len(whole)
    while pieces:
        piece = pieces.pop()
        whole[end - len(piece) : end] = piece
        end -= len(piece)
    return whole
