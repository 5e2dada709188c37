"""The buckets of multi-index hashing: which one a code falls into, and filling the tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel


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
    codes: Any,
    rows: Any,
    begin: int,
    width: int,
    ends: Any,
    starts: Any,
    places: Any,
    copies: Any,
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
