"""One pass over rows and ranks that come from a file: each must be there once, none outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import kernel


@kernel
def are_inverse(rows: Any, ranks: Any, begin: int, end: int) -> bool:
    """Whether rows[ranks[i]] is i for begin <= i < end; both int32 (m,), any values.

    Of all i together it says that both are permutations.
    """
    items = len(rows)
    for i in range(begin, end):
        rank = ranks[i]
        if rank < 0 or rank >= items or rows[rank] != i:
            return False
    return True


@kernel
def has_each_once(values: Any, words: Any) -> bool:
    """Whether int32 values (m,) are 0 .. m - 1 in some order. words: m bits, all zero before."""
    items = len(values)
    for i in range(items):
        value = values[i]
        if value < 0 or value >= items:
            return False
        word, bit = value >> 6, np.uint64(1) << np.uint64(value & 63)
        if words[word] & bit:
            return False
        words[word] |= bit
    return True
