"""Large batches of queries of short codes: by the tables of `sevens`, where these pay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Rows
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.lut_kernels import fill_tables, table_words
from xorec.search.hamming.lut_scan_kernels import scan_by_sevens
from xorec.search.hamming.plan import scan_cost
from xorec.search.hamming.planes_kernels import FEW, ITEMS, levels_for

MEMORY = 1 << 24
"""Bytes that the tables of a batch may take."""
_START, _ITEM, _WORD = 250.0, 0.047, 0.7
"""Nanoseconds of a query, of an item of it, and of a word of the tables, about."""
_SCAN, _HASHED, _LISTED = 500.0, 1_000.0, 150.0
"""Nanoseconds of a query by the scan, beside its items; by a hash table; of an item of its list."""
_LINE = 8
"""Words of a line of the cache."""
_PIECE = 512
"""Queries of one call, at most: the first of them has no neighbour to guess by."""


def pays(items: int, bits: int, k: int, queries: int, hashed: int) -> bool:
    """Whether a batch costs less by sevens than by a scan, or by so many hash tables.

    As in `plan`, costs are counted and not timed, and the answer is the same on every way.
    """
    if not items or levels_for(bits) != FEW:
        return False
    words = -(-items // ITEMS) * table_words(bits)
    if 8 * words > MEMORY:
        return False
    otherwise = _SCAN + scan_cost(items, bits)
    if hashed:
        otherwise = min(otherwise, hashed * (_HASHED + _LISTED * k))
    return queries * (_START + _ITEM * items) + _WORD * words < queries * otherwise


def scan_all(
    planes: Words,
    bits: int,
    valid: Words,
    first: int,
    place_of: Rows,
    queries: Words,
    filters: Filters,
    keys: Words,
    counts: npt.NDArray[np.int64],
    pool: ThreadPool,
) -> None:
    """The nearest items of all queries into keys (B, k) and counts; see `scan_kernels.scan`."""
    runs = len(valid) // RUN
    tables = aligned(runs * table_words(bits))
    codes = np.empty(runs * ITEMS, dtype=np.uint32)
    pool.map_ranges(runs, lambda begin, end: fill_tables(planes, bits, begin, end, tables, codes))
    order = by_code(queries)
    pieces = np.array_split(order, max(-(-len(order) // _PIECE), min(len(order), pool.threads)))
    own = (tables, codes, bits, valid, first, place_of, queries)
    seen = (filters.indptr, filters.indices)
    pool.map(len(pieces), lambda at: scan_by_sevens(*own, pieces[at], *seen, keys, counts))


def aligned(words: int) -> Words:
    """Room that begins where a line of the cache does: every load of the scan is within one."""
    room = np.empty(words + _LINE, dtype=np.uint64)
    first = -(room.ctypes.data // 8) % _LINE
    return room[first : first + words]


def by_code(queries: Words) -> npt.NDArray[np.int64]:
    """The queries (B, 1) in the order of their codes, which are shorter than 32 bits."""
    numbers = np.arange(len(queries), dtype=np.uint64)
    order = np.sort((queries[:, 0] << np.uint64(32)) | numbers)
    return (order & np.uint64(0xFFFFFFFF)).astype(np.int64)
