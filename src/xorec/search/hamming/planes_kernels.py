"""The linear scan, bit-sliced: 2,048 items at a time, 256 of them in one machine instruction.

A chunk of CHUNK_ITEMS items is stored as planes: plane f holds bit f of every item. The distances
of all of them to a query are counted side by side, in planes too (see `adders`), and compared in
the same breath with the k-th distance so far, which tells the items to look at; soon there are
none.
Items stand in tie order, so the first that come are the first in rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.adders import (
    CHUNK_WORDS,
    LAG_PLANES,
    LANES,
    count_to_31,
    count_to_255,
    count_to_2047,
)

CHUNK_ITEMS = 64 * CHUNK_WORDS
FEW, MORE, MOST = 5, 8, 11
"""Counter planes, for distances of up to 30, 254 and 2,046."""
PLANES_TOGETHER = 64
"""Planes of a chunk that are counted before the next ones: they fit the fastest cache."""
_PARTS = CHUNK_WORDS // LANES
TOO_LONG_FOR_FEW = (1 << FEW) - 1
"""Bits of a code whose distances, and one number more, FEW planes do not hold."""


@kernel
def levels_for(farthest: int) -> int:
    """Counter planes that hold every distance and one number more."""
    if farthest < TOO_LONG_FOR_FEW:
        return FEW
    return MORE if farthest < (1 << MORE) - 1 else MOST


@inlined
def planes_in(planes: Any) -> Any:
    """Planes of a chunk, those of the lags and all."""
    return planes.bits if planes.lags is None else planes.bits + LAG_PLANES


@kernel
def transpose(block: Any) -> None:
    """Turn a 64 x 64 block of bits, in place: bit j of word i becomes bit i of word j."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for word in range(first, first + width):
                swap = ((block[word] >> shift) ^ block[word + width]) & mask
                block[word + width] ^= swap
                block[word] ^= swap << shift
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def slice_chunks(codes: Any, rows: Any, bits: int, begin: int, end: int, planes: Any) -> None:
    """Write chunks begin .. end - 1 of planes (chunks, bits, CHUNK_WORDS): codes[rows] (n, W)."""
    block = np.empty(64, dtype=np.uint64)
    for chunk in range(begin, end):
        for word in range(CHUNK_WORDS):
            first = chunk * CHUNK_ITEMS + 64 * word
            for w in range(codes.shape[1]):
                for item in range(64):
                    at = first + item
                    block[item] = codes[rows[at], w] if at < len(rows) else np.uint64(0)
                transpose(block)
                for f in range(64 * w, min(bits, 64 * w + 64)):
                    planes[chunk, f, word] = block[f - 64 * w]


@inlined
def count_chunk(
    planes: Any,
    begin: Any,
    position: Any,
    ahead: int,
    query: Any,
    bound: Any,
    open_: Any,
    counted: Any,
) -> Any:
    """Count the distances of the chunk at planes.words[begin:]; whether any is less than `bound`.

    query: `arrays.QueryPlanes`; of masked codes only what the items lack of its planes is counted.
    open_[position:]: a bit for each item of the chunk that may be found. counted:
    `arrays.Counted`, written. ahead: how far behind the words are that memory should bring next, 0
    for none (asking for what is behind the last chunk does no harm).
    """
    if levels_for(planes.farthest) == FEW:
        count_few(planes, begin, position, ahead, query, bound, open_, counted)
    else:
        count_many(planes, begin, position, ahead, query, bound, open_, counted)
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        some |= counted.found[np.uint64(word)]
    return some != np.uint64(0)


@inlined
def count_few(
    planes: Any,
    begin: Any,
    position: Any,
    ahead: int,
    query: Any,
    bound: Any,
    open_: Any,
    counted: Any,
) -> None:
    """`count_chunk` of short codes, in a loop of its own: a call takes as long as one of _PARTS."""
    count, behind = len(query.flips), 0 if query.lags is None else LAG_PLANES
    for part in range(_PARTS):
        if ahead:
            for f in range(part, count + behind, _PARTS):
                prefetch_plane(planes, begin, ahead, query, f)
        where = (begin, position, np.uint64(part * LANES))
        count_to_31(planes.words, query, (0, count), counted, where, bound, open_)


@kernel
def count_many(
    planes: Any,
    begin: Any,
    position: Any,
    ahead: int,
    query: Any,
    bound: Any,
    open_: Any,
    counted: Any,
) -> None:
    """`count_chunk` of long codes, PLANES_TOGETHER after PLANES_TOGETHER."""
    count, levels = len(query.flips), levels_for(planes.farthest)
    for first in range(0, max(1, count), PLANES_TOGETHER):
        last = min(count, first + PLANES_TOGETHER)
        for part in range(_PARTS):
            if ahead:
                for f in range(first + part, last, _PARTS):
                    prefetch_plane(planes, begin, ahead, query, f)
            where = (begin, position, np.uint64(part * LANES))
            if levels == MORE:
                count_to_255(planes.words, query, (first, last), counted, where, bound, open_)
            else:
                count_to_2047(planes.words, query, (first, last), counted, where, bound, open_)


@kernel
def prefetch_plane(planes: Any, begin: Any, ahead: int, query: Any, f: int) -> None:
    """Ask for plane f of the chunk that is `ahead` of the one at `begin`."""
    plane = np.uint64(f * CHUNK_WORDS) if query.masked is None else query.flips[f]
    for line in range(0, CHUNK_WORDS, 8):
        prefetch(planes.words, begin + plane + np.uint64(ahead + line))


@inlined
def bit_at(counts: Any, level: Any, word: Any, bit: Any) -> Any:
    """Bit `level` of the count of one item, in its place."""
    one = (counts[np.uint64(level * CHUNK_WORDS) + word] >> bit) & np.uint64(1)
    return one << np.uint64(level)


@kernel
def count_at(counts: Any, levels: int, word: Any, bit: Any) -> Any:
    """The count of one item; written out, because a loop takes five times as long."""
    w = np.uint64(word)
    count = bit_at(counts, 0, w, bit) | bit_at(counts, 1, w, bit)
    count |= bit_at(counts, 2, w, bit) | bit_at(counts, 3, w, bit)
    count |= bit_at(counts, 4, w, bit)
    if levels >= MORE:
        count |= bit_at(counts, 5, w, bit) | bit_at(counts, 6, w, bit)
        count |= bit_at(counts, 7, w, bit)
    if levels >= MOST:
        count |= bit_at(counts, 8, w, bit) | bit_at(counts, 9, w, bit)
        count |= bit_at(counts, 10, w, bit)
    return np.int64(count)


@kernel
def spread(query: Any, bits: int, flips: Any) -> None:
    """Every bit of a query as a word of ones or zeros; flips: (bits,)."""
    for f in range(bits):
        flips[f] = np.uint64(0) - ((query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1))


@kernel
def set_planes(query: Any, bits: int, chosen: Any) -> int:
    """Where the planes of the set bits of a query begin in a chunk; returns how many there are."""
    count = 0
    for f in range(bits):
        if (query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1):
            chosen[count] = np.uint64(f * CHUNK_WORDS)
            count += 1
    return count
