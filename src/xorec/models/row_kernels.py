"""How the rows of users and items move, where they live, and what the others see of them.

SPHERE: rows of unit length. BALL: of at most unit length. FREE: as they are. SIGNS: codes; the
others see sign(row) / sqrt(d), or a softer sign while `soft` > 0: v / (soft / sqrt(d) + |v|) for
each entry v, scaled to unit length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.bits import prefetch
from xorec.kernels import inlined

SPHERE, BALL, FREE, SIGNS = 0, 1, 2, 3
_TINY = np.float32(1e-8)
_LARGE = 1 << 18
"""A table of more numbers (1 MiB) does not stay in a core's own cache: ask for its rows ahead."""
_CLIP = np.float32(2)
"""Rows behind codes stay within 2 / sqrt(d): a bit that is sure can still be turned."""


@inlined
def show(rows: Any, shown: Any, row: Any, kind: Any, soft: Any) -> None:
    """Bring a row that moved back to where rows live, and show it."""
    size = rows.shape[1]
    factor = np.float32(1)
    if kind == SIGNS:
        unit = np.float32(1) / np.sqrt(np.float32(size))
        most, doubt, total = _CLIP * unit, soft * unit, np.float32(0)
        for f in range(size):
            value = min(max(rows[row, f], -most), most)
            rows[row, f] = value
            if doubt > np.float32(0):
                value /= doubt + abs(value)
                total += value * value
            else:
                value = unit if value >= np.float32(0) else -unit
            shown[row, f] = value
        if doubt > np.float32(0) and total > np.float32(0):
            factor = np.float32(1) / np.sqrt(total)
            for f in range(size):
                shown[row, f] *= factor
        return
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
