"""Encoding: a Source read batch by batch, in one pass, into compact arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from xorec.core.errors import DataError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.base import Source, polars_errors
from xorec.data.io.columns import Columns
from xorec.data.io.id_encoder import Codes, GrowingArray, HashCollision, IdEncoder, renumber
from xorec.data.io.values import (
    VALUE_ROLES,
    Origin,
    first_true,
    rating_note,
    scaled_weights,
    summed_weights,
    time_note,
    values_of,
)
from xorec.data.merge import Merged, merge_pairs, take_pairs

T = TypeVar("T")
_IDS = ("user", "item")
BATCH = 100_000
"""Rows of a batch: few enough for the cache, enough to make Python's part small."""


class NothingSinceError(DataError):
    """All rows are earlier than `since`."""


@dataclass(frozen=True)
class Weighing:
    """The weights of pairs. scale: of `WEIGHT_SCALES`; by_repeats: by how often a pair comes."""

    scale: str = "log"
    by_repeats: bool = False


@dataclass
class Encoded:
    """Codes and values of all batches so far. read: counts the rows before `since` as well."""

    encoders: dict[str, IdEncoder]
    arrays: dict[str, GrowingArray] = field(default_factory=dict)
    read: int = 0
    rows: int = 0
    blank: int = 0

    def extend(self, role: str, values: npt.NDArray[Any]) -> None:
        """Add a batch to the array of this role."""
        if role not in self.arrays:
            self.arrays[role] = GrowingArray(values.dtype)
        self.arrays[role].extend(values)


def encode(
    source: Source,
    columns: Columns,
    options: RunOptions = DEFAULTS,
    weighing: Weighing = Weighing(),  # noqa: B008 - immutable
) -> Interactions:
    """Read a source: distinct pairs by rows, rows by sorted ids; notes say what was merged."""
    with polars_errors(source.name):
        gathered = numbers_first(source, columns, lambda one: gather(one, columns, options))
    if gathered.rows == 0:
        raise no_rows(source)
    return _interactions(source, columns, gathered, weighing, options.thread_count)


def gather(source: Source, columns: Columns, options: RunOptions = DEFAULTS) -> Encoded:
    """One pass over the columns in use: ids as codes, the rest as arrays."""
    for seed in range(8):
        try:
            gathered = Encoded({"user": IdEncoder(seed), "item": IdEncoder(seed)})
            with options.progress.task(f"reading {source.name}") as task:
                for batch in role_batches(source, columns):
                    _add_batch(batch, source, columns, gathered)
                    task.advance(len(batch), rows=f"{gathered.rows:,}")
            return gathered
        except HashCollision:
            continue
    raise DataError(f"{source.name}: the ids defeat eight hash functions; is this a real file?")


def numbers_first(source: Source, columns: Columns, read: Callable[[Source], T]) -> T:
    """Read a CSV file with ratings and times parsed as numbers; if that fails, as text, and the
    error then says which value is no number. Another source is read as it is.
    """
    if source.scan is None:
        return read(source)
    wanted = {columns.rating: pl.Float32, columns.weight: pl.Float64, columns.time: pl.Int64}
    types = {name: dtype for name, dtype in wanted.items() if name is not None}
    try:
        return read(replace(source, frame=source.scan(types)))
    except pl.exceptions.PolarsError:
        return read(source)


def no_rows(source: Source) -> DataError:
    """The error where there are no rows, or none from `since` on."""
    if source.since is not None:
        return NothingSinceError(
            f"{source.name} has no rows since {source.since}: give an earlier since, or wait."
        )
    what = "a file" if source.stream is None else "a table or a query"
    where = " below its header" if source.text and not source.positions else ""
    return DataError(f"{source.name} has no rows{where}: give {what} with interactions.")


def role_batches(source: Source, columns: Columns) -> Iterator[pl.DataFrame]:
    """The columns in use by role, as they stream by."""
    if source.stream is not None:
        for batch in source.stream(columns.in_use()):
            _require_id_types(batch.schema, source, columns)
            yield batch
        return
    picked = [pl.col(name).alias(role) for role, name in columns.in_use().items()]
    wanted = source.frame.select(picked)
    schema = wanted.collect_schema()
    _require_id_types(schema, source, columns)
    categories = [role for role in _IDS if schema[role] in (pl.Categorical, pl.Enum)]
    plain = wanted.with_columns(pl.col(role).cast(pl.String) for role in categories)
    yield from plain.collect_batches(chunk_size=BATCH, maintain_order=True)


def _require_id_types(schema: pl.Schema, source: Source, columns: Columns) -> None:
    """Refuse columns of lists and the like as ids. schema: by role."""
    for role in _IDS:
        if schema[role].is_nested() or schema[role] == pl.Object:
            name = getattr(columns, role)
            raise DataError(
                f"{source.name}, column {quoted(name)}: {schema[role]} values cannot be ids; give "
                f"strings or numbers, or name another column with {role}_column."
            )


def _add_batch(batch: pl.DataFrame, source: Source, columns: Columns, gathered: Encoded) -> None:
    """Add one batch; a column of known ids holds their rows already."""
    size = len(batch)
    if source.text and batch["user"].null_count() and batch["item"].null_count():
        batch = batch.filter(~pl.all_horizontal(pl.all().is_null()))  # a blank line is all nulls
        gathered.blank += size - len(batch)
    places = {role: Origin(source.name, n, gathered.read) for role, n in columns.in_use().items()}
    for role in _IDS:
        _refuse_empty(batch[role], places[role], role)
    with_values = [role for role in VALUE_ROLES if role in places]
    values = {role: values_of(role, batch[role], places[role]) for role in with_values}
    gathered.read += len(batch)
    if source.since is not None:
        kept = values["time"] >= source.since
        batch = batch.filter(kept)
        values = {role: array[kept] for role, array in values.items()}
    for role, encoder in gathered.encoders.items():
        ids, is_row = batch[role], getattr(columns, role) in source.known_ids
        gathered.extend(role, ids.to_numpy().astype(np.int32) if is_row else encoder.add(ids))
    for role, array in values.items():
        gathered.extend(role, array)
    gathered.rows += len(batch)


def _refuse_empty(ids: pl.Series, place: Origin, role: str) -> None:
    is_float = ids.dtype.is_float()
    if ids.null_count() == 0 and not is_float:
        return
    offset = first_true(ids.is_null() | ids.is_nan() if is_float else ids.is_null())
    if offset is not None:
        raise DataError(
            f"{place.row(offset)}: the {role} is empty; fill it in or drop that row, or name "
            f"another column with {role}_column."
        )


def _interactions(
    source: Source, columns: Columns, gathered: Encoded, weighing: Weighing, threads: int
) -> Interactions:
    arrays = {role: array.finish() for role, array in gathered.arrays.items()}
    users, items = (_ids(source, columns, role, gathered, arrays[role]) for role in _IDS)
    shape, times, parts = (len(users), len(items)), arrays.get("time"), arrays.get("split")
    merged = merge_pairs(arrays["user"], arrays["item"], shape, times, parts, threads=threads)
    if weighing.by_repeats:
        arrays["weight"] = np.ones(len(arrays["user"]))
    tally = (gathered.blank, merged.repeats, merged.moved)
    notes = reading_notes(source, columns, arrays, *tally)
    raw = pair_strengths(arrays, merged, len(items))
    weights, said = (None, None) if raw is None else weights_and_note(raw, weighing.scale)
    kept = {
        role: take_pairs(arrays[role], merged.order, threads)
        for role in ("rating", "time", "split")
        if role in arrays
    }
    ratings, times = kept.get("rating"), kept.get("time")
    more = (said, rating_note(ratings), time_note(times, columns.time))
    return Interactions(
        users,
        items,
        merged.indptr,
        merged.indices,
        times=times,
        ratings=ratings,
        weights=weights,
        parts=kept.get("split"),
        notes=(*notes, *(note for note in more if note)),
        parts_from=parts_from(source, columns),
    )


def parts_from(source: Source, columns: Columns) -> dict[str, str]:
    """Where the parts of a given split come from."""
    if columns.split is None:
        return {}
    files = ", ".join(source.part_files)
    return {"files": files} if files else {"column": columns.split}


def reading_notes(
    source: Source,
    columns: Columns,
    roles: Collection[str],
    blank: int,
    repeats: int,
    moved: int,
) -> list[str]:
    """Notes on what was guessed and merged.

    roles: of the columns in use. blank: lines; repeats: pairs that were merged into others;
    moved: pairs in several parts.
    """
    notes = [*source.notes, *columns.notes]
    if blank:
        notes.append(f"{blank:,} blank lines skipped")
    if repeats:
        how = f"the {'latest' if 'time' in roles else 'last'} kept"
        if "weight" in roles:
            how = "their weights summed"
        elif "rating" not in roles:
            how += " (weight_column 'repeats' would weigh pairs by their number)"
        notes.append(f"{repeats:,} repeated pairs merged, {how}")
    if moved:
        notes.append(f"{moved:,} pairs in several parts kept in the first of them")
    return notes


def pair_strengths(
    arrays: Mapping[str, npt.NDArray[Any]], merged: Merged, n_items: int
) -> npt.NDArray[np.float64] | None:
    """The strength of each pair that stays: its weight, or the sum of those merged into it."""
    raw = arrays.get("weight")
    if raw is None:
        return None
    if not merged.repeats:
        return raw[merged.order]
    pairs = arrays["user"].astype(np.int64) * n_items + arrays["item"]
    return summed_weights(raw, pairs, merged.order, arrays.get("split"))


def weights_and_note(
    raw: npt.NDArray[np.float64], scale: str
) -> tuple[npt.NDArray[np.float32] | None, str]:
    """The weights of pairs of these strengths, None if all are the same; and a note."""
    weights = scaled_weights(raw, scale)
    if weights is None:
        return None, f"every weight is {raw[0]:g}: the same as none"
    how = ", on a log scale" if scale == "log" else ""
    span = f"{weights.min():.3g} to {weights.max():.3g}"
    return weights, f"weights from {raw.min():g} to {raw.max():g}{how}: each pair counts as {span}"


def _ids(source: Source, columns: Columns, role: str, gathered: Encoded, codes: Codes) -> Ids:
    """The sorted ids of a column; `codes` become the rows of these ids, in place."""
    column = str(getattr(columns, role))
    if column in source.known_ids:
        return source.known_ids[column]
    known = gathered.encoders[role].known()
    if refused := refused_id(known, source, role):
        code, why = refused
        first_row = Origin(source.name, column).row(int(np.argmax(codes == code)))
        raise DataError(f"{first_row}: {why}")
    whole_numbers = source.text and column not in source.quoted
    ids, row_of_code = sorted_ids(known, whole_numbers=whole_numbers)
    renumber(codes, row_of_code)
    return ids


WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is an integer's own way of writing itself: not 007, not +7, not 7.0."""
NEVER_AN_ID = ("nan", "NaN")
NOT_AN_INTEGER = ("NA", "N/A", "na", "n/a", "null", "NULL", "None", "none", "#N/A", "-")
"""Words for "missing": the second kind counts as missing where every other id is an integer."""
EXACT_BELOW = 2.0**53
"""From here on a float is several whole numbers at once."""
LONGEST_ID = 1_000_000
"""Bytes."""


def sorted_ids(known: pl.Series, *, whole_numbers: bool) -> tuple[Ids, Codes]:
    """The ids sorted, and the row of each among them.

    known: distinct ids. whole_numbers: text ids that all are whole numbers become integers.
    """
    if whole_numbers and len(known) and known.str.contains(WHOLE_NUMBER).all():
        numbers = known.cast(pl.Int64, strict=False)
        known = known if numbers.null_count() else numbers
    known = known + 0.0 if known.dtype.is_float() else known  # -0.0 is 0.0, whichever came first
    order = known.arg_sort().to_numpy()
    rows = np.empty(len(known), dtype=np.int32)
    rows[order] = np.arange(len(known), dtype=np.int32)
    return Ids.from_series(known.gather(order)), rows


def refused_id(known: pl.Series, source: Source, role: str) -> tuple[int, str] | None:
    """The code of the first among these distinct ids that cannot be kept, and why.

    That is one that is missing, would be mixed up with others, or is too long.
    """
    is_text = known.dtype == pl.String
    if is_text and (code := _missing(known, words=source.text)) is not None:
        advice = " (an id that is really called so can come in a data frame)" if known[code] else ""
        missing = f"{known[code]!r}, a missing value; fill it in or drop that row{advice}"
        return code, f"the {role} is {missing}."
    if known.dtype.is_float() and (code := first_true(known.abs() >= EXACT_BELOW)) is not None:
        return code, (
            f"the {role} is {known[code]!r}, among numbers with fractions, where whole ones from "
            "2**53 on are mixed up; give all as integers, or as text."
        )
    if is_text or known.dtype == pl.Binary:
        lengths = known.str.len_bytes() if is_text else known.bin.size()
        if (code := first_true(lengths > LONGEST_ID)) is not None:
            many = f"{lengths[code]:,} bytes: an id has at most {LONGEST_ID:,}"
            return code, f"the {role} has {many}."
    if is_text and source.text_file:  # a zero byte is what JSON's half of a surrogate pair becomes
        code = first_true(known.str.contains("\0", literal=True))
        if code is not None:
            why = "has a zero byte, or half of a surrogate pair such as \\ud800: mend that row"
            return code, f"the {role} {quoted(known[code])} {why}."
    return None


def _missing(known: pl.Series, *, words: bool) -> int | None:
    """The code of an empty id or, with `words`, of a word for "missing"."""
    empty = ["", *NEVER_AN_ID] if words else [""]
    suspects = known.is_in([*empty, *NOT_AN_INTEGER] if words else empty)
    others = known.filter(~suspects)
    if suspects.any() and len(others) and others.str.contains(WHOLE_NUMBER).all():
        return first_true(suspects)
    return first_true(known.is_in(empty))
