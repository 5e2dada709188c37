"""Tables that were read from a file, checked before a kernel follows them."""

from __future__ import annotations

import numpy as np

from xorec.core.arrays import Arrays
from xorec.core.bits import has_bits_behind, words_for
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_offsets, check_tensors
from xorec.search.hamming.multi_index.tables import WIDEST, substrings

TABLES: Schema = {
    "places": Tensor("int32", ("tables", "items"), rows_of="items"),
    "copies": Tensor("uint64", ("tables", "code words")),
    "full": Tensor("uint64", ("tables", "bucket words")),
    "before": Tensor("int32", ("tables", "bucket words")),
    "firsts": Tensor("int64", ("tables+1",), offsets_of="starts"),
    "starts": Tensor("int32", ("starts",), least=0),
}


def check_tables(tensors: Arrays, items: int, bits: int) -> None:
    """What a file has kept of tables: kernels follow buckets, starts and places unchecked."""
    tables = len(tensors["places"]) if "places" in tensors else 0
    if not 1 <= tables <= bits or -(-bits // tables) > WIDEST:
        raise DataError(f"index.places has {tables} tables, which {bits} bits cannot have")
    width = int(substrings(bits, tables)[1].max())
    sizes = {
        "items": items,
        "code words": items * words_for(bits),
        "bucket words": -(-(1 << width) // 64),
    }
    check_tensors(tensors, TABLES, sizes)
    counts = np.bitwise_count(tensors["full"]).astype(np.int64)
    before = np.cumsum(counts, axis=1) - counts
    if (tensors["before"] != before).any():
        raise DataError("index.before does not count the full buckets")
    ends = tensors["firsts"]
    if (np.diff(ends) != counts.sum(axis=1) + 1).any():
        raise DataError("index.firsts does not fit the full buckets")
    for t in range(tables):
        check_offsets("index.starts", tensors["starts"][ends[t] : ends[t + 1]], items)
        if not (np.bincount(tensors["places"][t], minlength=items) == 1).all():
            raise DataError("index.places does not have each item once")
    if has_bits_behind(tensors["copies"].reshape(-1, words_for(bits)), bits):
        raise DataError(f"index.copies has bits behind the last of {bits}")
