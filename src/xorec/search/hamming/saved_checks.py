"""The tensors that a file keeps of an index, checked before a kernel follows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import words_for
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_offsets, check_tensors
from xorec.data.tie_rank import TieRank
from xorec.search.hamming.adders import CHUNK_WORDS
from xorec.search.hamming.mih_tables import WIDEST, substrings
from xorec.search.hamming.planes_kernels import CHUNK_ITEMS

Arrays = Mapping[str, npt.NDArray[Any]]
SEGMENT: Schema = {
    "rows": Tensor("int32", ("items",), rows_of="items"),
    "planes": Tensor("uint64", ("plane words",)),
}
TABLES: Schema = {
    "places": Tensor("int32", ("tables", "items"), rows_of="items"),
    "copies": Tensor("uint64", ("tables", "code words")),
    "full": Tensor("uint64", ("tables", "bucket words")),
    "before": Tensor("int32", ("tables", "bucket words")),
    "firsts": Tensor("int64", ("tables+1",), offsets_of="starts"),
    "starts": Tensor("int32", ("starts",), least=0),
}


def check_saved(tensors: Arrays, items: int, bits: int, tie_rank: TieRank) -> None:
    """What `HammingIndex.tensors` wrote for so many codes of so many bits."""
    sizes = {"items": items, "plane words": -(-items // CHUNK_ITEMS) * bits * CHUNK_WORDS}
    check_tensors(tensors, SEGMENT, sizes)
    if (tensors["rows"][tie_rank] != np.arange(items)).any():
        raise DataError("index.rows is not the order of tie_rank")
    if "starts" in tensors:
        _check_tables(tensors, items, bits)


def _check_tables(tensors: Arrays, items: int, bits: int) -> None:
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
    last = tensors["copies"][:, words_for(bits) - 1 :: words_for(bits)]
    if bits % 64 and last.size and int(last.max()) >> (bits % 64):
        raise DataError(f"index.copies has bits behind the last of {bits}")
