"""Tables that were read from a file, checked before a kernel follows them."""

from __future__ import annotations

import numpy as np

from xorec.core.arrays import Arrays, as_contiguous
from xorec.core.bits import has_bits_behind, words_for
from xorec.core.errors import DataError
from xorec.core.item_offsets import MOST_OFFSET
from xorec.core.schema import Schema, Tensor, check_offsets, check_tensors
from xorec.core.threads import ThreadPool
from xorec.search.hamming.checks import has_each_once
from xorec.search.hamming.multi_index.tables import WIDEST, copy_type, heads_of, lags_of, substrings
from xorec.search.hamming.segment import Segment

TABLES: Schema = {
    "places": Tensor("int32", ("tables", "items")),
    "copies": Tensor(("uint32", "uint64"), ("tables", "code words")),
    "full": Tensor("uint64", ("tables", "bucket words")),
    "before": Tensor("int32", ("tables", "bucket words")),
    "firsts": Tensor("int64", ("tables+1",), offsets_of="starts"),
    "starts": Tensor("int32", ("starts",), least=0),
}


HEADS: Schema = {
    "lags": Tensor("uint8", ("tables", "items")),
    "heads": Tensor("int32", ("heads",), rows_of="items"),
    "head_lags": Tensor("uint8", ("heads",)),
    "head_copies": Tensor(("uint32", "uint64"), ("head words",)),
    "least_lag": Tensor("int64", (1,), least=0, most=MOST_OFFSET),
}


def check_heads(tensors: Arrays, segment: Segment, pool: ThreadPool | None) -> None:
    """The items that tables have set apart are those that their lags set apart."""
    words = words_for(segment.bits)
    known = {"items": len(segment), "tables": len(tensors["places"])}
    known["head words"] = words * len(tensors["heads"])
    check_tensors(tensors, HEADS, known, values=pool is not None)
    if tensors["head_copies"].dtype != tensors["copies"].dtype:
        raise DataError("index.head_copies has other words than index.copies")
    if pool is None:
        return
    lags = lags_of(segment.offsets, segment.order.rows)
    heads = heads_of(lags, int(tensors["least_lag"][0]))
    if not np.array_equal(tensors["heads"], heads):
        raise DataError("index.heads is not what index.least_lag sets apart")
    kept = (tensors["lags"], tensors["head_lags"])
    if (kept[0] != lags[tensors["places"]]).any() or (kept[1] != lags[heads]).any():
        raise DataError("index.lags are not those of the items' offsets")
    if has_bits_behind(tensors["head_copies"].reshape(-1, words), segment.bits):
        raise DataError(f"index.head_copies has bits behind the last of {segment.bits}")


def check_tables(tensors: Arrays, items: int, bits: int, pool: ThreadPool | None) -> None:
    """What a file has kept of tables: kernels follow buckets, starts and places unchecked.

    pool: to look at the values with; None leaves these out.
    """
    tables = len(tensors["places"]) if "places" in tensors else 0
    if not 1 <= tables <= bits or -(-bits // tables) > WIDEST:
        raise DataError(f"index.places has {tables} tables, which {bits} bits cannot have")
    words = [-(-(1 << int(width)) // 64) for width in substrings(bits, tables)[1]]
    sizes = {"items": items, "code words": items * words_for(bits), "bucket words": max(words)}
    check_tensors(tensors, TABLES, sizes, values=pool is not None)
    if tensors["copies"].itemsize < copy_type(bits).itemsize:
        raise DataError(f"index.copies has words that {bits} bits do not fit into")
    if pool is None:
        return
    counts = np.bitwise_count(tensors["full"]).astype(np.int64)
    before = np.cumsum(counts, axis=1) - counts
    for t, own in enumerate(words):  # a narrower table has fewer buckets than there is room for
        if (tensors["before"][t, :own] != before[t, :own]).any() or counts[t, own:].any():
            raise DataError("index.before does not count the full buckets")
    ends = tensors["firsts"]
    if (np.diff(ends) != counts.sum(axis=1) + 1).any():
        raise DataError("index.firsts does not fit the full buckets")
    for t in range(tables):
        check_offsets("index.starts", tensors["starts"][ends[t] : ends[t + 1]], items)
    places, right = as_contiguous(tensors["places"]), [False] * tables

    def look_at(t: int) -> None:
        right[t] = has_each_once(places[t])

    pool.map(tables, look_at)
    if not all(right):
        raise DataError("index.places does not have each item once")
    if has_bits_behind(tensors["copies"].reshape(-1, words_for(bits)), bits):
        raise DataError(f"index.copies has bits behind the last of {bits}")
