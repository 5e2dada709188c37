"""The second stage: exact scores of the items on a shortlist.

items (B, s) has counts[b] rows of the catalogue for query b; out (B, s) gets their scores. Each
kernel works on the queries `begin` to `end`. Products are added in float64, so that the scores are
those of `single_query.products`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.kernels import fast_helper, fast_kernel, kernel
from xorec.representations.neighbours_kernels import number_at


@fast_helper
def product(query: Any, rows: Any, item: Any) -> Any:
    """query (d,) . row of an item, in float64; rows (m d,): numbers as `number_at` reads them."""
    first, total = np.uint64(item) * np.uint64(len(query)), 0.0
    for f in range(np.uint64(len(query))):
        total += np.float64(query[f]) * np.float64(number_at(rows, first + f))
    return total


@fast_kernel
def score_rows(
    queries: Any, rows: Any, scales: Any, items: Any, counts: Any, begin: int, end: int, out: Any
) -> None:
    """out = queries . rows[items], times scales[items] where there are scales (of int8 rows)."""
    for b in range(begin, end):
        for place in range(counts[b]):
            item = items[b, place]
            total = product(queries[b], rows, item)
            out[b, place] = total * scales[item] if len(scales) else total


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
