"""One query at a time: search and answer in one call, because a call costs as much as a search."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel
from xorec.search.hamming.scan_kernels import scan
from xorec.search.hamming.tables_kernels import probe
from xorec.search.nearest_kernels import unpack


@kernel
def find_one(
    tables: Any,
    rows: Any,
    place_of: Any,
    bits: int,
    budget: float,
    query: Any,
    shown: Any,
    excluded: Any,
    items: Any,
    scores: Any,
    distances: Any,
    counts: Any,
) -> Any:
    """`probe` and `unpack` for one query (1, W); false where it must be scanned."""
    keys = np.empty(items.shape, dtype=np.uint64)
    finished = np.zeros(1, dtype=np.bool_)
    probe(
        tables,
        rows,
        place_of,
        query,
        np.zeros(1, dtype=np.int64),
        shown,
        np.array([0, len(excluded)]),
        excluded,
        excluded[:0],
        budget,
        keys,
        counts,
        finished,
    )
    if finished[0]:
        unpack(keys, counts, rows, bits, items, scores, distances)
    return finished[0]


@kernel
def scan_one(
    planes: Any,
    rows: Any,
    place_of: Any,
    bits: int,
    masked: Any,
    query: Any,
    valid: Any,
    excluded: Any,
    items: Any,
    scores: Any,
    distances: Any,
    counts: Any,
) -> Any:
    """`scan` and `unpack` for one query (1, W)."""
    keys = np.empty(items.shape, dtype=np.uint64)
    indptr, which = np.array([0, len(excluded)]), np.zeros(1, dtype=np.int64)
    own = (planes, bits, masked, valid, 0, place_of)
    scan(*own, query, which, indptr, excluded, keys, counts)
    unpack(keys, counts, rows, bits, items, scores, distances)
    return True
