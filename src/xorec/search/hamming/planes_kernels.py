"""The linear scan, bit-sliced: 2,048 items at a time, 256 of them in one machine instruction.

A run of 64 x RUN items is stored as planes: plane f holds bit f of every item. The distances of
all of them to a query are counted side by side, in planes too (see `adders`), and compared in the
same breath with the k-th distance so far, which tells the items to look at; soon there are none.
Items stand in tie order, so the first that come are the first in rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import inlined, kernel
from xorec.search.hamming.adders import LANES, RUN, count_to_31, count_to_255, count_to_2047

ITEMS = 64 * RUN
FEW, MORE, MOST = 5, 8, 11
"""Counter planes, for codes of up to 30, 254 and 2,046 bits."""
CHUNK = 64
"""Planes of a run that are counted before the next ones: they fit the fastest cache."""
_PARTS = RUN // LANES


@kernel
def levels_for(bits: int) -> int:
    """Counter planes that hold every distance and one number more."""
    if bits < (1 << FEW) - 1:
        return FEW
    return MORE if bits < (1 << MORE) - 1 else MOST


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
def slice_runs(codes: Any, rows: Any, bits: int, begin: int, end: int, planes: Any) -> None:
    """Write the runs begin .. end - 1 of planes (runs, bits, RUN) from codes (m, W) in `rows`."""
    block = np.empty(64, dtype=np.uint64)
    for run in range(begin, end):
        for word in range(RUN):
            first = run * ITEMS + 64 * word
            for w in range(codes.shape[1]):
                for item in range(64):
                    place = first + item
                    block[item] = codes[rows[place], w] if place < len(rows) else np.uint64(0)
                transpose(block)
                for f in range(64 * w, min(bits, 64 * w + 64)):
                    planes[run, f, word] = block[f - 64 * w]


@inlined
def count_run(
    planes: Any,
    begin: Any,
    ahead: int,
    flips: Any,
    masked: Any,
    levels: int,
    bound: Any,
    open_: Any,
    place: Any,
    total: Any,
    found: Any,
) -> Any:
    """Count the distances of the run at `begin`; returns whether any is less than `bound`.

    flips: of `spread`, or for masked codes of `set_planes`: what the items lack of these planes is
    counted. total (levels RUN,): the distances, in planes. found (RUN,): the items that are nearer
    than `bound` and open, by the bits of open_[place:]. ahead: how far behind the next words are
    that memory should bring, 0 for none (asking for what is behind the last run does no harm).
    """
    if levels == FEW:
        count_few(planes, begin, ahead, flips, masked, bound, open_, place, total, found)
    else:
        count_many(planes, begin, ahead, flips, masked, levels, bound, open_, place, total, found)
    some = np.uint64(0)
    for word in range(RUN):
        some |= found[np.uint64(word)]
    return some != np.uint64(0)


@inlined
def count_few(
    planes: Any,
    begin: Any,
    ahead: int,
    flips: Any,
    masked: Any,
    bound: Any,
    open_: Any,
    place: Any,
    total: Any,
    found: Any,
) -> None:
    """`count_run` of short codes, in a loop of its own: a call takes as long as a part of a run."""
    count = len(flips)
    for part in range(_PARTS):
        if ahead:
            for f in range(part, count, _PARTS):
                bring(planes, begin, ahead, flips, f, masked)
        w = np.uint64(part * LANES)
        at, own = begin + w, place + w
        count_to_31(planes, at, flips, 0, count, masked, total, w, bound, open_, own, found)


@kernel
def count_many(
    planes: Any,
    begin: Any,
    ahead: int,
    flips: Any,
    masked: Any,
    levels: int,
    bound: Any,
    open_: Any,
    place: Any,
    total: Any,
    found: Any,
) -> None:
    """`count_run` of long codes, CHUNK planes after CHUNK planes."""
    count = len(flips)
    for first in range(0, max(1, count), CHUNK):
        last = min(count, first + CHUNK)
        for part in range(_PARTS):
            if ahead:
                for f in range(first + part, last, _PARTS):
                    bring(planes, begin, ahead, flips, f, masked)
            w = np.uint64(part * LANES)
            at, own = begin + w, place + w
            if levels == MORE:
                count_to_255(
                    planes, at, flips, first, last, masked, total, w, bound, open_, own, found
                )
            else:
                count_to_2047(
                    planes, at, flips, first, last, masked, total, w, bound, open_, own, found
                )


@kernel
def bring(planes: Any, begin: Any, ahead: int, flips: Any, f: int, masked: Any) -> None:
    """Ask for plane f of the run that is `ahead` of the one at `begin`."""
    plane = np.uint64(f * RUN) if masked is None else flips[f]
    for line in range(0, RUN, 8):
        prefetch(planes, begin + plane + np.uint64(ahead + line))


@inlined
def bit_at(counters: Any, level: Any, word: Any, bit: Any) -> Any:
    """Bit `level` of the count of one item, in its place."""
    one = (counters[np.uint64(level * RUN) + word] >> bit) & np.uint64(1)
    return one << np.uint64(level)


@kernel
def count_at(counters: Any, levels: int, word: Any, bit: Any) -> Any:
    """The count of one item; written out, because a loop takes five times as long."""
    w = np.uint64(word)
    count = bit_at(counters, 0, w, bit) | bit_at(counters, 1, w, bit)
    count |= bit_at(counters, 2, w, bit) | bit_at(counters, 3, w, bit)
    count |= bit_at(counters, 4, w, bit)
    if levels >= MORE:
        count |= bit_at(counters, 5, w, bit) | bit_at(counters, 6, w, bit)
        count |= bit_at(counters, 7, w, bit)
    if levels >= MOST:
        count |= bit_at(counters, 8, w, bit) | bit_at(counters, 9, w, bit)
        count |= bit_at(counters, 10, w, bit)
    return np.int64(count)


@kernel
def spread(query: Any, bits: int, flips: Any) -> None:
    """Every bit of a query as a word of ones or zeros; flips: (bits,)."""
    for f in range(bits):
        flips[f] = np.uint64(0) - ((query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1))


@kernel
def set_planes(query: Any, bits: int, chosen: Any) -> int:
    """Where the planes of the set bits of a query begin in a run; returns how many there are."""
    count = 0
    for f in range(bits):
        if (query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1):
            chosen[count] = np.uint64(f * RUN)
            count += 1
    return count
