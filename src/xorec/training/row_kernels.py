"""How the rows of users and items move, where they live, and what the others see of them.

SPHERE: rows of unit length. BALL: of at most unit length. FREE: as they are. SIGNS: codes. Their
others see sign(row) / sqrt(d), or while `reach` > 0 something between a row and its code: for an
entry v, with e = v sqrt(d) / reach clipped to [-1, 1],

    (e + hard (drawn - e)) / sqrt(d),    drawn = +1 with the chance (1 + e) / 2, else -1

whose mean is e / sqrt(d) for every `hard`: at 0 the row itself, within reach; at 1 drawn bits.
A bit that the loss needs must therefore leave the middle, where its draw is a coin's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import prefetch
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.rng import draw, stream

SPHERE, BALL, FREE, SIGNS = 0, 1, 2, 3
_TINY = np.float32(1e-8)
_LARGE = 1 << 18
"""A table of more numbers (1 MiB) does not stay in a core's own cache: ask for its rows ahead."""
_CLIP = np.float32(2)
"""Rows behind codes stay within 2 / sqrt(d): a bit that is sure can still be turned."""
_SIXTEEN, _MIDDLE = np.uint64(65535), np.float32(1 - 1 / 65536)


@inlined
def show(rows: Any, shown: Any, row: Any, kind: Any) -> None:
    """Bring a row that moved back to where vectors live, and show it."""
    size = rows.shape[1]
    factor = np.float32(1)
    if kind != FREE:
        total = np.float32(0)
        for f in range(size):
            total += rows[row, f] * rows[row, f]
        if total > np.float32(1) or (kind == SPHERE and total > np.float32(0)):
            factor = np.float32(1) / np.sqrt(total)
    for f in range(size):
        value = rows[row, f] * factor
        rows[row, f] = value
        shown[row, f] = value


@inlined
def show_code(
    rows: Any, shown: Any, row: Any, reach: Any, hard: Any, key: Any, position: Any
) -> None:
    """Clip a row behind a code, and show it; the draws are those of a stream from `position` on.

    Each number of the stream has four uniforms of 16 bits.
    """
    size, one = rows.shape[1], np.float32(1)
    unit = one / np.sqrt(np.float32(size))
    most = max(_CLIP, reach) * unit
    for f in range(0, size, 4):
        number = draw(key, position + f) if reach > np.float32(0) else np.uint64(0)
        for g in range(f, min(f + 4, size)):
            value = min(max(rows[row, g], -most), most)
            rows[row, g] = value
            if reach > np.float32(0):
                mean = min(max(value / (reach * unit), -one), one)
                uniform = np.float32(number & _SIXTEEN) / np.float32(32768) - _MIDDLE
                number = number >> np.uint64(16)
                drawn = one if uniform < mean else -one
                shown[row, g] = unit * (mean + hard * (drawn - mean))
            else:
                shown[row, g] = unit if value >= np.float32(0) else -unit


@fast_kernel
def show_codes(
    rows: Any, shown: Any, reach: Any, hard: Any, seed: Any, epoch: Any, begin: int, end: int
) -> None:
    """`show_code` of the rows begin .. end - 1, from the start of their streams."""
    for row in range(begin, end):
        show_code(rows, shown, row, reach, hard, stream(seed, epoch, row), 0)


@inlined
def move(rows: Any, row: Any, step: Any, square: Any, spent: Any, rate: Any) -> None:
    """Take a step against the gradient `step`, shorter the more the row has had (Adagrad)."""
    spent[row] += square
    length = rate / np.sqrt(spent[row] + _TINY)
    for f in range(rows.shape[1]):
        rows[row, f] -= length * step[f]


@inlined
def fetch_next(table: Any, size: Any, positives: Any, negatives: Any, pair: Any) -> None:
    """Ask for the items of the pair after this one, while this one is worked off.

    table: the items' rows of `size` numbers, flat. It changes no result. Where the table is large
    it halves the time of a pass, which would wait for memory otherwise (amazon-cds: 210 to 100 ns
    a negative); where it is small, it would cost a tenth.
    """
    if len(table) > _LARGE and pair + 1 < len(positives):
        for k in range(-1, negatives.shape[1]):
            row = positives[pair + 1] if k < 0 else negatives[pair + 1, k]
            if row >= 0:
                for f in range(0, size, 16):
                    prefetch(table, np.int64(row) * size + f)
