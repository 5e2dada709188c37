"""The ids of read rows: made distinct by their hashes where they lie, sorted on the driver.

A block of rows has the codes of its ids, these ids, and the values beside them. Ids are numbers, or
text as bytes and lengths: arrays that can be joined end to end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays, Blocks, Engine
from xorec.core.errors import DataError
from xorec.core.rng import hash_integers, hash_text
from xorec.data.ids import Ids
from xorec.data.io.base import Source
from xorec.data.io.columns import Columns
from xorec.data.io.encode import Encoded, refused_id, sorted_ids
from xorec.data.io.id_encoder import IdEncoder
from xorec.data.io.values import Origin
from xorec.data.text import IdTable, Text

if TYPE_CHECKING:
    import polars as pl

ID_ROLES = ("user", "item")


def row_block(gathered: Encoded) -> dict[str, npt.NDArray[Any]]:
    """What one pass has gathered, as a block: arrays by role, and the ids behind the codes."""
    arrays = {role: array.finish() for role, array in gathered.arrays.items()}
    for role in ID_ROLES:
        arrays |= pack_ids(role, gathered.encoders[role].known())
    return arrays


def pack_ids(role: str, ids: pl.Series) -> dict[str, npt.NDArray[Any]]:
    """Distinct ids as arrays.

    >>> import polars as pl
    >>> packed = pack_ids("user", pl.Series(["ann", "bo"]))
    >>> unpack_ids("user", packed).to_list()
    ['ann', 'bo']
    """
    if ids.dtype.is_float():
        return {f"{role}_ids": ids.to_numpy() + 0.0}  # -0.0 is 0.0
    values = Ids.from_series(ids).values
    if isinstance(values, Text):
        return {f"{role}_text": values.data, f"{role}_lengths": np.diff(values.offsets)}
    return {f"{role}_ids": values}


def unpack_ids(role: str, arrays: Arrays) -> pl.Series:
    """The ids of `pack_ids`."""
    import polars as pl
    import pyarrow as pa

    if f"{role}_ids" in arrays:
        return pl.Series(arrays[f"{role}_ids"])
    text = text_of(role, arrays)
    buffers = (pa.py_buffer(text.offsets), pa.py_buffer(np.ascontiguousarray(text.data)))
    return pl.Series(pl.from_arrow(pa.LargeStringArray.from_buffers(len(text), *buffers)))


def text_of(role: str, arrays: Arrays) -> Text:
    """Ids that are text."""
    offsets = np.zeros(len(arrays[f"{role}_lengths"]) + 1, dtype=np.int64)
    np.cumsum(arrays[f"{role}_lengths"], out=offsets[1:])
    return Text(arrays[f"{role}_text"], offsets)


class CodedIds(NamedTuple):
    """The sorted ids of a column, and the arrays by which a block finds the rows of its own."""

    ids: Ids
    arrays: Mapping[str, npt.NDArray[Any]]


def collect_ids(
    engine: Engine, blocks: Blocks, into: int, source: Source, columns: Columns
) -> dict[str, CodedIds]:
    """The ids of users and of items, sorted and typed by the rules of `xorec.read`.

    into: pieces in which they are made distinct.
    """
    import polars as pl

    parts = engine.exchange(send_ids, blocks, into, count=into)
    try:
        found = list(engine.map_blocks(distinct_ids, parts))
    finally:
        engine.release(parts)
    coded = {}
    for role in ID_ROLES:
        known = pl.concat([unpack_ids(role, one) for one in found], rechunk=True)
        name = str(getattr(columns, role))
        if refused_id(known, source, role) is not None:
            raise _refusal(engine, blocks, source, role, name)
        whole = source.text and name not in source.quoted
        ids, rows = sorted_ids(known, whole_numbers=whole)
        coded[role] = CodedIds(ids, _lookup_arrays(role, ids, known, rows))
    return coded


def send_ids(block: Arrays, shared: Arrays, count: int) -> Iterator[tuple[int, Arrays]]:
    """The ids of a block, each to the piece of its hash."""
    import polars as pl

    ids = {role: unpack_ids(role, block) for role in ID_ROLES}
    targets = {role: pl.Series(_hashes(role, block) % np.uint64(count)) for role in ID_ROLES}
    for target in range(count):
        part: dict[str, npt.NDArray[Any]] = {}
        for role in ID_ROLES:
            part |= pack_ids(role, ids[role].filter(targets[role] == target))
        yield target, part


def distinct_ids(block: Arrays, shared: Arrays) -> Arrays:
    """Each id of a piece once."""
    kept: dict[str, npt.NDArray[Any]] = {}
    for role in ID_ROLES:
        kept |= pack_ids(role, unpack_ids(role, block).unique())
    return kept


def rows_of_ids(role: str, block: Arrays, shared: Arrays) -> npt.NDArray[np.int32]:
    """The row of each id of a block among the sorted ids (`CodedIds.arrays`)."""
    import polars as pl

    if f"{role}_sorted" not in shared:
        text = Text(shared[f"{role}_data"], shared[f"{role}_offsets"])
        table = IdTable(shared[f"{role}_starts"], shared[f"{role}_rows"])
        return table.find_all(text, text_of(role, block)).astype(np.int32)
    ids = unpack_ids(role, block)
    if ids.dtype == pl.String:
        ids = ids.cast(pl.Int64)
    return np.searchsorted(shared[f"{role}_sorted"], ids.to_numpy()).astype(np.int32)


def _lookup_arrays(
    role: str, ids: Ids, known: pl.Series, rows: npt.NDArray[np.int32]
) -> dict[str, npt.NDArray[Any]]:
    if not isinstance(ids.values, Text):
        return {f"{role}_sorted": ids.values}
    if ids.kind != "str":  # floats, whose ids are kept as text
        ordered = np.empty(len(known), dtype=known.to_numpy().dtype)
        ordered[rows] = known.to_numpy()
        return {f"{role}_sorted": ordered}
    text, table = ids.values, IdTable.of(ids.values)
    return {
        f"{role}_data": text.data,
        f"{role}_offsets": text.offsets,
        f"{role}_starts": table.starts,
        f"{role}_rows": table.rows,
    }


def _hashes(role: str, block: Arrays) -> npt.NDArray[np.uint64]:
    if f"{role}_ids" not in block:
        text = text_of(role, block)
        return np.asarray(hash_text(text.data, text.offsets, 0), dtype=np.uint64)
    ids = block[f"{role}_ids"]
    numbers = ids.astype(np.float64).view(np.int64) if ids.dtype.kind == "f" else ids
    return np.asarray(hash_integers(numbers, 0), dtype=np.uint64)


def _refusal(engine: Engine, blocks: Blocks, source: Source, role: str, column: str) -> DataError:
    """Which id is refused, and where it comes first: all ids again, in the order of the data."""
    encoder = IdEncoder()
    for block in engine.map_blocks(ids_alone, blocks, role=role):
        encoder.add(unpack_ids(role, block))
    known = encoder.known()
    refused = refused_id(known, source, role)
    assert refused is not None
    code, why = refused
    wanted = pack_ids(role, known.slice(code, 1))
    row = 0
    for block in engine.map_blocks(first_place, blocks, [wanted], role=role):
        rows, at = block["found"].tolist()
        if at >= 0:
            row += at
            break
        row += rows
    return DataError(f"{Origin(source.name, column).row(row)}: {why}")


def ids_alone(block: Arrays, shared: Arrays, role: str) -> Arrays:
    """The ids of one role."""
    return {name: array for name, array in block.items() if name.startswith(f"{role}_")}


def first_place(block: Arrays, shared: Arrays, role: str) -> Arrays:
    """Rows of a block, and the first of them with the shared id; -1: none."""
    same = (unpack_ids(role, block) == unpack_ids(role, shared)[0]).arg_true()
    places = np.flatnonzero(block[role] == same[0])[:1] if len(same) else np.empty(0, np.int64)
    return {"found": np.array([len(block[role]), places[0] if len(places) else -1])}
