"""The items of scanned levels: few that are near from afar, counted in planes for every query.

They come before all tables, so the k-th distance is small from the start. What a query may not show
is asked of an item only when it would make the list: items are taken out of a chunk nearest first,
until the next is too far.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.bits import Words, trailing_zeros
from xorec.core.kernels import kernel
from xorec.search.hamming.adders import CHUNK_WORDS, LAG_PLANES
from xorec.search.hamming.arrays import Counted, Planes, QueryPlanes
from xorec.search.hamming.multi_index.buckets_kernels import admit
from xorec.search.hamming.multi_index.levels import Numbers
from xorec.search.hamming.multi_index.pool_kernels import FARTHEST
from xorec.search.hamming.planes_kernels import (
    CHUNK_ITEMS,
    count_at,
    count_chunk,
    levels_for,
    spread,
)

_WAITING = 64
"""Heads that are admitted in one call."""


class HeadScratch(NamedTuple):
    """The heads of one query, chunk by chunk.

    open_ (chunks CHUNK_WORDS,): a bit for each head. flips (bits,): of the query. counts (chunks,
    levels CHUNK_WORDS): their distances, lags and all, in planes. left (chunks, CHUNK_WORDS): a bit
    for each that was not admitted yet. found (CHUNK_WORDS,), entries (_WAITING, 2): scratch.
    """

    open_: Words
    flips: Words
    counts: Words
    left: Words
    found: Words
    entries: Numbers


@kernel
def scratch_for(head_planes: Any, heads: Any, bits: int, most: int) -> Any:
    """Room for the heads; None where there are no planes."""
    if head_planes is None:
        return None
    chunks = -(-len(heads) // CHUNK_ITEMS)
    open_ = np.full(chunks * CHUNK_WORDS, ~np.uint64(0), dtype=np.uint64)
    last = len(heads) >> 6
    if last < len(open_):
        open_[last] = (np.uint64(1) << np.uint64(len(heads) & 63)) - np.uint64(1)
        open_[last + 1 :] = 0
    return HeadScratch(
        open_,
        np.empty(bits, np.uint64),
        np.empty((chunks, levels_for(bits + most) * CHUNK_WORDS), np.uint64),
        np.empty((chunks, CHUNK_WORDS), np.uint64),
        np.empty(CHUNK_WORDS, np.uint64),
        np.empty((_WAITING, 2), np.int64),
    )


@kernel
def admit_first_heads(
    head_planes: Any,
    heads: Any,
    farthest: Any,
    query: Any,
    within: Any,
    checks: Any,
    pool: Any,
    room: Any,
) -> None:
    """Count the distances of all heads, and add those up to `within` to the nearest so far.

    head_planes, heads: of `tables.HashTables`; checks: `tables.EntryFilter`; pool:
    `pool_kernels.Pool`; room: HeadScratch.
    """
    if room is None:
        return
    bits = len(room.flips)
    lags = bits * CHUNK_WORDS
    planes = Planes(head_planes, bits, None, lags, farthest)
    spread(query, bits, room.flips)
    flips, bound = QueryPlanes(room.flips, None, lags), min(within, farthest) + 1
    open_, found = room.open_, room.found
    for chunk in range(len(room.left)):
        position, counted = np.uint64(chunk * CHUNK_WORDS), Counted(room.counts[chunk], found)
        start = position * np.uint64(bits + LAG_PLANES)
        some = count_chunk(planes, start, position, 0, flips, bound, open_, counted)
        left = room.left[chunk]
        for word in range(CHUNK_WORDS):
            w = np.uint64(word)
            left[w] = open_[position + w] ^ found[w]
        if some:
            admit_found(room, chunk, heads, checks, pool)


@kernel
def admit_next_heads(room: Any, heads: Any, within: Any, checks: Any, pool: Any) -> None:
    """Add the heads that are left up to the distance `within` to the nearest so far."""
    if room is None:
        return
    for chunk in range(len(room.left)):
        if take_within(room.counts[chunk], within, room.left[chunk], room.found):
            admit_found(room, chunk, heads, checks, pool)


@kernel
def admit_found(room: Any, chunk: int, heads: Any, checks: Any, pool: Any) -> None:
    """Add the heads of room.found to the nearest so far."""
    counts, entries, found, waits = room.counts[chunk], room.entries, room.found, 0
    levels, words = len(counts) // CHUNK_WORDS, np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        words |= np.uint64(found[w] != np.uint64(0)) << w
    while words:
        word = trailing_zeros(words)
        left = found[word]
        bit = trailing_zeros(left)
        left &= left - np.uint64(1)
        found[word] = left
        words ^= np.uint64(left == np.uint64(0)) << word
        entries[waits, 0] = np.int64(np.uint64(64) * word + bit) + chunk * CHUNK_ITEMS
        entries[waits, 1] = count_at(counts, levels, word, bit)
        waits += entries[waits, 1] <= pool.numbers[FARTHEST]
        if waits == _WAITING:
            admit(entries, waits, heads, checks, pool)
            waits = 0
    admit(entries, waits, heads, checks, pool)


@kernel
def take_within(counts: Any, within: Any, left: Any, found: Any) -> Any:
    """Move the items of a chunk whose count is at most `within` from `left` to `found`.

    counts: in planes; compared bit by bit, the lowest first. Returns whether there are any.
    """
    levels = len(counts) // CHUNK_WORDS
    least = min(np.int64(within), (np.int64(1) << levels) - 1)
    for word in range(CHUNK_WORDS):
        found[np.uint64(word)] = ~np.uint64(0)
    for level in range(levels):
        plane, ones = np.uint64(level * CHUNK_WORDS), np.uint64(0)
        if (least >> level) & 1:
            ones = ~ones
        for word in range(CHUNK_WORDS):
            w = np.uint64(word)
            zero = ~counts[plane + w]
            found[w] = (found[w] & (zero | ones)) | (zero & ones)
    some = np.uint64(0)
    for word in range(CHUNK_WORDS):
        w = np.uint64(word)
        found[w] &= left[w]
        left[w] ^= found[w]
        some |= found[w]
    return some != np.uint64(0)
