"""Scores of composed codes, a block of items at a time: XOR and popcount of bytes, then weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import popcount
from xorec.core.kernels import kernel

BLOCK = 512
"""Items whose scores are added up side by side."""
_TWO = np.float32(2)


def scratch_for(size: int) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """What `score_block` counts the differing bits of groups of `size` bits in, (BLOCK,)."""
    return np.empty(BLOCK, np.uint8) if size < 256 else np.empty(BLOCK, np.uint16)


@kernel
def count_first(column: Any, query: Any, counts: Any) -> None:
    """counts[i] = the bits in which column[i] and the query, a byte, differ."""
    for i in range(len(column)):
        counts[i] = popcount(np.uint8(column[i] ^ query))


@kernel
def count_more(column: Any, query: Any, counts: Any) -> None:
    """counts[i] += the bits in which column[i] and the query, a byte, differ."""
    for i in range(len(column)):
        counts[i] += popcount(np.uint8(column[i] ^ query))


@kernel
def add_group(weights: Any, counts: Any, size: Any, eta: Any, scores: Any) -> None:
    """scores[i] += weights[i] (eta (size - 2 counts[i]))."""
    for i in range(len(weights)):
        scores[i] += weights[i] * (eta * (size - _TWO * np.float32(counts[i])))


@kernel
def score_block(
    columns: Any,
    weights: Any,
    size: int,
    query: Any,
    eta: Any,
    begin: int,
    counts: Any,
    scores: Any,
) -> None:
    """The scores of as many items from `begin` on as `scores` is long (at most BLOCK).

    columns (G P, m), weights (G, m): the items; size: bits of a group; query (G P,), eta (G,).
    counts: see `scratch_for`.
    """
    end = begin + len(scores)
    groups = weights.shape[0]
    width = columns.shape[0] // groups
    for i in range(len(scores)):
        scores[i] = np.float32(0)
    for g in range(groups):
        if eta[g] == np.float32(0):
            continue
        first = g * width
        count_first(columns[first, begin:end], query[first], counts)
        for part in range(first + 1, first + width):
            count_more(columns[part, begin:end], query[part], counts)
        add_group(weights[g, begin:end], counts, np.float32(size), eta[g], scores)


@kernel
def score_all(
    columns: Any, weights: Any, size: int, queries: Any, etas: Any, counts: Any, out: Any
) -> None:
    """The scores of all items for queries (B, G P) of weights (B, G), into out (B, m)."""
    for begin in range(0, out.shape[1], BLOCK):
        end = min(out.shape[1], begin + BLOCK)
        for b in range(len(queries)):
            scores = out[b, begin:end]
            score_block(columns, weights, size, queries[b], etas[b], begin, counts, scores)
