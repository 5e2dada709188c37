"""The tables of multi-index hashing: their levels, building them, and their tensors.

A level is the items of one lag, with tables of their own, or few enough to be scanned. An item at
effective distance e, its lag on top, has bits that differ in e less its lag: the tables of a level
need a radius that is smaller by the level's lag. The few items of large offsets are near from afar,
the many others only from nearby; in tables of all items together, all of them would be looked for
from afar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Offsets, Words, words_for
from xorec.core.kernels import kernel
from xorec.core.threads import ThreadPool
from xorec.search.filters import Mask, Rows
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, LAG_PLANES, slice_chunks
from xorec.search.hamming.segment import planes_of_lags
from xorec.search.hits import Numbers


class Level(NamedTuple):
    """members (n,): the tie positions of the items of this lag, ascending.

    tables: how many they have; 0: they are scanned, together with those of other such levels.
    """

    lag: int
    tables: int
    members: Rows


def positions_by_lag(offsets: Offsets, rows: Rows) -> list[Rows]:
    """The tie positions of each lag, ascending; all of them at lag 0 where there are no offsets.

    >>> [part.tolist() for part in positions_by_lag(np.array([0, 2, 0], np.uint8), np.arange(3))]
    [[1], [], [0, 2]]
    """
    if not len(offsets):
        return [np.arange(len(rows), dtype=np.int32)]
    lags = offsets.max() - offsets[rows]
    order = np.argsort(lags, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(lags, minlength=int(offsets.max()) + 1))
    return np.split(order, ends[:-1])


def levels_of(offsets: Offsets, rows: Rows, tables: tuple[int, ...]) -> list[Level]:
    """The levels that have items; tables: how many each has, by lag."""
    parts = positions_by_lag(offsets, rows)
    return [
        Level(lag, count, members)
        for lag, (count, members) in enumerate(zip(tables, parts, strict=True))
        if len(members)
    ]


def scanned_of(levels: list[Level]) -> Rows:
    """The tie positions of all scanned levels, the least lag first."""
    parts = [level.members for level in levels if not level.tables]
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])


@kernel
def substring(code: Any, begin: int, width: int) -> Any:
    """Bits begin .. begin + width - 1 of a code (W,), width up to 32."""
    word, shift = begin >> 6, begin & 63
    part = code[word] >> np.uint64(shift)
    if shift + width > 64:
        part |= code[word + 1] << np.uint64(64 - shift)
    return np.uint32(part & np.uint64((1 << width) - 1))


@kernel
def count_buckets(
    codes: Any, rows: Any, begin: int, width: int, ends: Any, full: Any, before: Any
) -> Any:
    """Count the items of every bucket of one table; returns how many buckets hold any.

    codes (m, W) are by row; rows: the row at each tie position. ends (2**width + 1,), zeros: the
    items before each bucket. full: a bit for each bucket that is not empty, zeros; before: how many
    of these stand before each word of `full`.
    """
    for position in range(len(rows)):
        ends[substring(codes[rows[position]], begin, width) + 1] += 1
    there = 0
    for bucket in range(1 << width):
        if not bucket & 63:
            before[bucket >> 6] = there
        if ends[bucket + 1]:
            full[bucket >> 6] |= np.uint64(1) << np.uint64(bucket & 63)
            there += 1
        ends[bucket + 1] += ends[bucket]
    return there


@kernel
def fill_table(
    codes: Any, rows: Any, begin: int, width: int, ends: Any, starts: Any, places: Any, copies: Any
) -> None:
    """One table: its s-th full bucket holds places[starts[s]:starts[s + 1]], and their codes.

    ends: as `count_buckets` left it. copies: the words of all codes, one after the other.
    """
    there = 0
    for bucket in range(1 << width):
        if ends[bucket + 1] > ends[bucket]:
            starts[there] = ends[bucket]
            there += 1
    starts[there] = len(rows)
    for position in range(len(rows)):
        code = codes[rows[position]]
        bucket = substring(code, begin, width)
        at = ends[bucket]
        ends[bucket] = at + 1
        places[at] = position
        for w in range(len(code)):
            copies[at * len(code) + w] = code[w]


Copies = npt.NDArray[np.uint32 | np.uint64]
BEGIN, WIDTH, FIRST, BLOCK, ENTRY, LAG = range(6)
"""Columns of `HashTables.cuts`."""
_MASKS = 1 << 17
"""Masks that are kept: queries that need more are scanned."""
WIDEST = 26
"""Bits of the longest substring: its table has 2**26 buckets."""
_KEPT = ("starts", "full", "before", "places", "copies")
_BY_TABLE = ("full", "before", "places", "copies")


class HashTables(NamedTuple):
    """Tables of the items of each level (see `Level`), each by its own substring of the code.

    levels (L, 3): the first table of each, how many it has, and its lag; lags ascend. One level of
    lag 0 where items have no offsets. cuts (T, 6), a row for each table: where its substring BEGINs
    and its WIDTH; where it begins in starts (FIRST), in full and before (BLOCK), and in places
    (ENTRY); its LAG. Ring s of table t has rings[s, t] masks, which begin at masks[rings[s, T]].
    full: a bit for each bucket that is not empty; before: how many of those of the table come
    before each word. starts: where each full bucket starts, from the first entry of its table on.
    places and copies: the items' tie positions and their codes in the order of the buckets; words
    of 32 bits where these are enough.

    heads (h,), head_planes: the tie positions of the items of scanned levels, and their codes and
    lags in planes; None where items have no offsets. most: the largest offset.
    """

    levels: Numbers
    cuts: Numbers
    rings: Numbers
    masks: npt.NDArray[np.uint32]
    starts: Rows
    full: Words
    before: Rows
    places: Rows
    copies: Copies
    heads: Rows
    head_planes: Words | None
    most: int

    @classmethod
    def build(
        cls,
        codes: Words,
        rows: Rows,
        bits: int,
        levels: Sequence[Level],
        pool: ThreadPool,
        offsets: Offsets,
    ) -> HashTables:
        """Of the items codes[rows] (m, W). offsets: by row of codes; empty where there are none."""
        table_levels = [level for level in levels if level.tables]
        kept, cuts = lay_out(bits, [(lag, t, len(items)) for lag, t, items in table_levels])
        own = [level for level in table_levels for _ in range(level.tables)]
        sizes = np.array([len(level.members) for level in own])
        words, total = codes.shape[1], int(cuts[-1, ENTRY] + sizes[-1])
        blocks = int(cuts[-1, BLOCK]) + block_words(bits, own[-1].tables)
        full, before = np.zeros(blocks, dtype=np.uint64), np.zeros(blocks, dtype=np.int32)
        places = np.empty(total, dtype=np.int32)
        copies = np.empty(total * words, dtype=copy_type(bits))
        starts = [np.zeros(0, dtype=np.int32)] * len(own)

        def fill(t: int) -> None:
            begin, width, _, block, entry, _ = cuts[t].tolist()
            members, end = own[t].members, entry + int(sizes[t])
            ends = np.zeros((1 << width) + 1, dtype=np.int32)
            cut = (codes, rows[members] if len(offsets) else rows, begin, width, ends)
            there = count_buckets(*cut, full[block:], before[block:])
            starts[t] = np.empty(there + 1, dtype=np.int32)
            fill_table(*cut, starts[t], places[entry:end], copies[entry * words : end * words])
            if len(offsets):
                places[entry:end] = members[places[entry:end]]

        pool.map(len(own), fill)
        cuts[:, FIRST] = np.cumsum([0, *map(len, starts)])[:-1]
        arrays = (np.concatenate(starts), full, before, places, copies)
        heads, most = scanned_of(list(levels)), int(offsets.max(initial=0))
        planes = head_planes_of(codes, rows[heads], bits, offsets) if len(offsets) else None
        fields: Any = (kept, cuts, *rings_of(cuts[:, WIDTH]), *arrays, heads, planes, most)
        return cls(*fields)

    @property
    def widths(self) -> Numbers:
        """Bits of each table's substring."""
        return self.cuts[:, WIDTH]

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps."""
        kept = {name: getattr(self, name) for name in _KEPT}
        kept["firsts"] = np.append(self.cuts[:, FIRST], len(self.starts))
        if self.head_planes is None:
            tables = len(self.cuts)
            return {**kept, **{name: kept[name].reshape(tables, -1) for name in _BY_TABLE}}
        ends = np.append(self.cuts[1:, ENTRY], len(self.places))
        levels = np.zeros((self.most + 1, 2), dtype=np.int64)
        for first, tables, lag in self.levels:
            levels[lag] = tables, ends[first] - self.cuts[first, ENTRY]
        return {**kept, "levels": levels, "heads": self.heads, "head_planes": self.head_planes}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, npt.NDArray[Any]], bits: int, most: int
    ) -> HashTables:
        """The inverse of `tensors`; most: the largest offset."""
        levels, cuts = lay_out(bits, kept_levels(tensors))
        cuts[:, FIRST] = tensors["firsts"][:-1]
        kept = [tensors[name].reshape(-1) for name in _KEPT]
        heads, planes = tensors.get("heads", NO_HEADS), tensors.get("head_planes")
        fields: Any = (levels, cuts, *rings_of(cuts[:, WIDTH]), *kept, heads, planes, most)
        return cls(*fields)


class BucketTable(NamedTuple):
    """The fields of `HashTables` that kernels read to scan buckets."""

    cuts: Numbers
    starts: Rows
    places: Rows
    copies: Copies


class EntryFilter(NamedTuple):
    """What one query may not show: `segment.RowFilter`, and the exclusion bitmap.

    positions: the excluded tie positions whose bits are set there.
    """

    rows: Rows
    allow_mask: Mask
    excluded: Rows
    denied: Rows
    bitmap: Words
    positions: Rows


NO_HEADS: Rows = np.zeros(0, dtype=np.int32)


def kept_levels(tensors: Mapping[str, npt.NDArray[Any]]) -> list[tuple[int, int, int]]:
    """(lag, tables, items) of each level that has tables in a file."""
    if "levels" not in tensors:
        return [(0, *tensors["places"].shape)]
    levels = enumerate(tensors["levels"].tolist())
    return [(lag, tables, items) for lag, (tables, items) in levels if tables]


def lay_out(bits: int, levels: Sequence[tuple[int, int, int]]) -> tuple[Numbers, Numbers]:
    """`HashTables.levels` and cuts, without FIRST, of levels (lag, tables, items)."""
    kept: list[tuple[int, ...]] = []
    cuts: list[tuple[int, ...]] = []
    block = entry = 0
    for lag, tables, items in levels:
        kept.append((len(cuts), tables, lag))
        for begin, width in zip(*substrings(bits, tables), strict=True):
            cuts.append((begin, width, 0, block, entry, lag))
            block += block_words(bits, tables)
            entry += items
    return np.array(kept, dtype=np.int64), np.array(cuts, dtype=np.int64)


def block_words(bits: int, tables: int) -> int:
    """Words of `full` that each of so many tables has: the widest needs them all."""
    return -(-(1 << int(substrings(bits, tables)[1].max())) // 64)


def head_planes_of(codes: Words, rows: Rows, bits: int, offsets: Offsets) -> Words:
    """The codes of the items at `rows` and their lags, as a segment has them."""
    chunks = -(-len(rows) // CHUNK_ITEMS)
    planes = np.empty((chunks, bits + LAG_PLANES, CHUNK_WORDS), dtype=np.uint64)
    slice_chunks(codes, rows, bits, 0, chunks, planes)
    planes[:, bits:] = planes_of_lags(offsets, rows)
    return planes.reshape(-1)


def bytes_for(bits: int, tables: int, items: int) -> int:
    """Bytes of that many tables, at most: every bucket full, or every item alone in one."""
    _, widths = substrings(bits, tables)
    buckets, copy = 1 << int(widths.max()), words_for(bits) * copy_type(bits).itemsize
    starts = 4 * (min(buckets, items) + 1)
    return tables * ((4 + copy) * items + starts + 12 * -(-buckets // 64))


def copy_type(bits: int) -> np.dtype[np.uint32 | np.uint64]:
    """The words that tables copy codes into: candidates are compared there, so no smaller ones.

    >>> copy_type(20).name, copy_type(33).name
    ('uint32', 'uint64')
    """
    return np.dtype(np.uint32 if bits <= 32 else np.uint64)


def substrings(bits: int, tables: int) -> tuple[Numbers, Numbers]:
    """(where each substring begins, its width): consecutive, as equal as can be."""
    edges = np.array([bits * t // tables for t in range(tables + 1)], dtype=np.int64)
    return edges[:-1].copy(), np.diff(edges)


def rings_of(widths: Numbers) -> tuple[Numbers, npt.NDArray[np.uint32]]:
    """(rings, masks): see `HashTables`.

    The masks of a ring ascend, so a narrower table's are the first ones of a wider table's.
    """
    widest = int(widths.max())
    ring = np.zeros(1, dtype=np.uint32)
    masks, sizes, total = [ring], [[*(1 for _ in widths), 0]], 1
    for radius in range(1, widest + 1):
        if total + comb(widest, radius) > _MASKS:
            break
        ring = np.concatenate(
            [
                ring[: comb(high, radius - 1)] | np.uint32(1 << high)
                for high in range(radius - 1, widest)
            ]
        )
        sizes.append([*(comb(int(width), radius) for width in widths), total])
        masks.append(ring)
        total += len(ring)
    return np.array(sizes, dtype=np.int64), np.concatenate(masks)
