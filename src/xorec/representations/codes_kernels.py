"""Scoring with codes: Hamming distances by XOR and popcount, and float users against item bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.bits import popcount
from xorec.core.kernels import kernel


@kernel
def agreement(queries: Any, items: Any, offsets: Any, bits: Any, out: Any) -> None:
    """out[q, i] = 1 - (hamming - offset) / bits, for words queries (q, W) and items (m, W).

    offsets (m,), or empty where there are none.
    """
    words = queries.shape[1]
    step = np.float32(1) / np.float32(bits)
    for q in range(queries.shape[0]):
        for i in range(items.shape[0]):
            distance = np.uint64(0)
            for w in range(words):
                distance += popcount(queries[q, w] ^ items[i, w])
            nearer = np.int64(distance) - (np.int64(offsets[i]) if len(offsets) else 0)
            out[q, i] = np.float32(1) - np.float32(nearer) * step


@kernel
def masked_agreement(queries: Any, items: Any, bits: Any, out: Any) -> None:
    """out[q, i] = 1 - |query and not item| / bits, for words queries (q, W) and items (m, W)."""
    words = queries.shape[1]
    step = np.float32(1) / np.float32(bits)
    for q in range(queries.shape[0]):
        for i in range(items.shape[0]):
            distance = np.uint64(0)
            for w in range(words):
                distance += popcount(queries[q, w] & ~items[i, w])
            out[q, i] = np.float32(1) - np.float32(distance) * step


@kernel
def byte_tables(queries: Any, tables: Any) -> None:
    """tables[q, b, v] = sum over the 8 bits of byte b of query[8b + bit] * (+1 or -1 as v has it),
    the bits in their order.

    queries: float32 (q, d), d up to 8 * bytes; tables: float32 (q, bytes, 256).
    """
    for q in range(queries.shape[0]):
        for b in range(tables.shape[1]):
            table = tables[q, b]
            table[:] = np.float32(0)
            for f in range(8 * b, min(8 * b + 8, queries.shape[1])):
                for value in range(256):
                    sign = np.float32(2 * ((value >> (f - 8 * b)) & 1) - 1)
                    table[value] += sign * queries[q, f]
