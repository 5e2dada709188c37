"""The second stage: exact scores of the items on a shortlist.

items (B, s) has counts[b] rows of the catalogue for query b; out (B, s) gets their scores. Each
kernel works on the queries `begin` to `end`. Products are added in float64, so that the scores are
those of `single_query.products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_kernel, kernel

_EXPONENT = np.float32(2.0**112)
"""The exponents of 16 and 32 bits start 112 apart."""


@fast_kernel
def score_rows(
    queries: Any, rows: Any, scales: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """out = queries . rows[items], times scales[items] where there are scales (of int8 rows)."""
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            total = 0.0
            for f in range(queries.shape[1]):
                total += np.float64(queries[b, f]) * np.float64(rows[item, f])
            out[b, place] = total * scales[item] if len(scales) else total


@fast_kernel
def score_halves(
    queries: Any, rows: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """`score_rows` of float16 rows, given as uint16: finite, so only the exponent is moved."""
    words = np.empty(queries.shape[1], dtype=np.uint32)
    row = words.view(np.float32)
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            for f in range(len(words)):
                half = np.uint32(rows[item, f])
                sign = (half & np.uint32(0x8000)) << np.uint32(16)
                words[f] = sign | ((half & np.uint32(0x7FFF)) << np.uint32(13))
            total = 0.0
            for f in range(len(words)):
                total += np.float64(queries[b, f]) * np.float64(row[f] * _EXPONENT)
            out[b, place] = total


@kernel
def score_bits(
    tables: Any, codes: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """Float users against bits: tables of bytes (`codes_kernels.byte_tables`), codes as bytes."""
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            total = np.float32(0)
            for byte in range(tables.shape[1]):
                total += tables[b, byte, codes[item, byte]]
            out[b, place] = total
