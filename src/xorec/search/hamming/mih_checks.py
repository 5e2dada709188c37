"""Tables that were read from a file, checked before a kernel follows them."""

from __future__ import annotations

import numpy as np

from xorec.core.arrays import Arrays
from xorec.core.bits import has_bits_behind, words_for
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_offsets, check_tensors
from xorec.core.threads import ThreadPool
from xorec.search.filters import Rows
from xorec.search.hamming.mih_tables import (
    BLOCK,
    ENTRY,
    WIDEST,
    WIDTH,
    block_words,
    copy_type,
    kept_levels,
    lay_out,
    positions_by_lag,
)
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, LAG_PLANES
from xorec.search.hamming.segment import Segment, has_each_once, planes_of_lags

TABLES: Schema = {
    "places": Tensor("int32", ("tables", "items")),
    "copies": Tensor(("uint32", "uint64"), ("tables", "code words")),
    "full": Tensor("uint64", ("tables", "bucket words")),
    "before": Tensor("int32", ("tables", "bucket words")),
    "firsts": Tensor("int64", ("tables+1",), offsets_of="starts"),
    "starts": Tensor("int32", ("starts",), least=0),
}
LEVELS: Schema = {
    "levels": Tensor("int64", ("lags", 2), least=0),
    "places": Tensor("int32", ("entries",)),
    "copies": Tensor(("uint32", "uint64"), ("code words",)),
    "full": Tensor("uint64", ("bucket words",)),
    "before": Tensor("int32", ("bucket words",)),
    "firsts": TABLES["firsts"],
    "starts": TABLES["starts"],
    "heads": Tensor("int32", ("heads",), rows_of="items"),
    "head_planes": Tensor("uint64", ("head words",)),
}
"""The same of the levels of items with offsets, one behind the other."""


def check_tables(tensors: Arrays, segment: Segment, pool: ThreadPool | None) -> None:
    """What a file has kept of tables: kernels follow buckets, starts and places unchecked.

    pool: to look at the values with; None leaves these out.
    """
    check_shapes(tensors, segment)
    if pool is None:
        return
    check_tensors(tensors, LEVELS if len(segment.offsets) else TABLES, {"items": len(segment)})
    members = {0: np.arange(len(segment), dtype=np.int32)}
    if len(segment.offsets):
        members = dict(enumerate(positions_by_lag(segment.offsets, segment.order.rows)))
        check_heads(tensors, segment, members)
    own = [members[lag] for lag, tables, _ in kept_levels(tensors) for _ in range(tables)]
    check_buckets(tensors, segment.bits, own, pool)
    if has_bits_behind(tensors["copies"].reshape(-1, words_for(segment.bits)), segment.bits):
        raise DataError(f"index.copies has bits behind the last of {segment.bits}")


def check_shapes(tensors: Arrays, segment: Segment) -> None:
    """The arrays are as long as the levels and their numbers of tables say."""
    items, bits = len(segment), segment.bits
    schema = LEVELS if len(segment.offsets) else TABLES
    if any(tensors[name].ndim != len(schema[name].shape) for name in schema if name in tensors):
        check_tensors(tensors, schema, {}, values=False)
    known = {"items": items, "lags": segment.most + 1}
    check_tensors(tensors, {name: schema[name] for name in ("levels", "heads") if name in schema},
                  known, values=False)  # fmt: skip
    if "places" not in tensors:
        raise DataError("places is missing")
    levels = kept_levels(tensors)
    for _, tables, size in levels:
        if not 1 <= tables <= bits or -(-bits // tables) > WIDEST or not 0 <= size <= items:
            raise DataError(f"index.places has {tables} tables, which {bits} bits cannot have")
    if not levels:
        raise DataError("index.levels has no tables")
    entries, words = sum(tables * size for _, tables, size in levels), words_for(bits)
    blocks = sum(tables * block_words(bits, tables) for _, tables, _ in levels)
    known["tables"] = sum(tables for _, tables, _ in levels)
    if len(segment.offsets):
        chunks = -(-len(tensors["heads"]) // CHUNK_ITEMS)
        known["head words"] = chunks * (bits + LAG_PLANES) * CHUNK_WORDS
        known |= {"entries": entries, "code words": entries * words, "bucket words": blocks}
    else:
        known |= {"code words": items * words, "bucket words": blocks // known["tables"]}
    check_tensors(tensors, schema, known, values=False)
    if tensors["copies"].itemsize < copy_type(bits).itemsize:
        raise DataError(f"index.copies has words that {bits} bits do not fit into")


def check_heads(tensors: Arrays, segment: Segment, members: dict[int, Rows]) -> None:
    """Each level is as large as its offset says; what has no tables is scanned, lags and all."""
    levels = tensors["levels"]
    for lag, (tables, size) in enumerate(levels.tolist()):
        if size != (len(members[lag]) if tables else 0):
            raise DataError("index.levels are not those of the items' offsets")
    none = np.zeros(0, dtype=np.int32)
    heads = np.concatenate([none, *(members[lag] for lag in members if not levels[lag, 0])])
    if not np.array_equal(tensors["heads"], heads):
        raise DataError("index.heads are not the items of levels without tables")
    planes = tensors["head_planes"].reshape(-1, segment.bits + LAG_PLANES, CHUNK_WORDS)
    lags = planes_of_lags(segment.offsets, segment.order.rows[heads])
    if (planes[:, segment.bits :] != lags).any():
        raise DataError("index.head_planes does not have the items' offsets")


def check_buckets(tensors: Arrays, bits: int, members: list[Rows], pool: ThreadPool) -> None:
    """Each table has each of its members once, and buckets that lead to them."""
    levels = kept_levels(tensors)
    cuts = lay_out(bits, levels)[1]
    room = [block_words(bits, tables) for _, tables, _ in levels for _ in range(tables)]
    full, before, places = (tensors[name].reshape(-1) for name in ("full", "before", "places"))
    ends, right = tensors["firsts"], [False] * len(cuts)
    for t, (row, words) in enumerate(zip(cuts, room, strict=True)):
        block, own = int(row[BLOCK]), -(-(1 << int(row[WIDTH])) // 64)
        counts = np.bitwise_count(full[block : block + words]).astype(np.int64)
        expected = (np.cumsum(counts) - counts)[:own]
        # a narrower table has fewer buckets than there is room for
        if (before[block : block + own] != expected).any() or counts[own:].any():
            raise DataError("index.before does not count the full buckets")
        if ends[t + 1] - ends[t] != counts.sum() + 1:
            raise DataError("index.firsts does not fit the full buckets")
        part = tensors["starts"][ends[t] : ends[t + 1]]
        check_offsets("index.starts", part, len(members[t]))

    def look_at(t: int) -> None:
        entry = int(cuts[t, ENTRY])
        right[t] = has_each_once(places[entry : entry + len(members[t])], members[t])

    pool.map(len(cuts), look_at)
    if not all(right):
        raise DataError("index.places does not have each item once")
