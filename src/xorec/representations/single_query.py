"""The scores of one query in plain NumPy, to the bit those of the kernels.

For a fresh process: loading numba takes longer than one query, and compiling a kernel seconds.
A kernel that is loaded is faster, so whoever calls these asks `core.lazy_kernel.is_loaded` first.
Sums are in the order of the kernels; those of float vectors are made in float64, where no order
can be told from another once they are rounded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.representations.base import Bytes, Floats, Scores

_VALUES = np.arange(256)


def distances(query: Words, codes: Words, *, masked: bool = False) -> npt.NDArray[np.int64]:
    """The bits in which codes (m, W) differ from a query (W,), or lack of it if masked: (m,).

    >>> distances(np.array([0b11], np.uint64), np.array([[0b01], [0b111]], np.uint64))
    array([1, 1])
    """
    total = np.zeros(len(codes), dtype=np.int64)
    for word, column in zip(query, codes.T, strict=True):
        total += np.bitwise_count(word & ~column if masked else word ^ column)
    return total


def agreement(distance: npt.NDArray[np.integer], bits: int) -> Scores:
    """1 - distance / bits, in float32."""
    step = np.float32(1) / np.float32(bits)
    scores: Scores = np.float32(1) - distance.astype(np.float32) * step
    return scores


def byte_tables(query: Floats, size: int) -> Floats:
    """What each value of each byte of an item adds for a float user (d,): (size, 256)."""
    tables = np.zeros((size, 256), dtype=np.float32)
    padded = np.zeros(8 * size, dtype=np.float32)
    padded[: len(query)] = query
    for bit, column in enumerate(padded.reshape(size, 8).T):
        sign = (2 * ((_VALUES >> bit) & 1) - 1).astype(np.float32)
        tables += column[:, None] * sign
    return tables


def word_tables(query: Floats, books: Floats) -> Floats:
    """The products of a query (D,) with the words of books (B, D, W), filled up: (B, 256)."""
    tables = np.zeros((len(books), 256), dtype=np.float32)
    for factor, rows in zip(query, books.transpose(1, 0, 2), strict=True):
        tables[:, : books.shape[2]] += factor * rows
    return tables


def look_up(columns: Bytes, tables: Floats) -> Scores:
    """The sums of tables (S, 256) at the bytes of items, columns (S, m): (m,)."""
    scores = np.zeros(columns.shape[1], dtype=np.float32)
    for column, table in zip(columns, tables, strict=True):
        scores += table[column]
    return scores


def composed(columns: Bytes, weights: Floats, size: int, query: Bytes, eta: Floats) -> Scores:
    """The scores of composed codes: see `composed_kernels.score_block`; (m,)."""
    scores = np.zeros(weights.shape[1], dtype=np.float32)
    width = len(columns) // len(weights)
    for g, weight in enumerate(weights):
        if eta[g] == 0:
            continue
        group = slice(g * width, (g + 1) * width)
        counts = np.bitwise_count(columns[group] ^ query[group, None]).sum(axis=0, dtype=np.int64)
        agreed = np.float32(size) - np.float32(2) * counts.astype(np.float32)
        scores += weight * (eta[g] * agreed)
    return scores


def products(query: Floats, rows: npt.NDArray[np.number], scales: Floats) -> Scores:
    """query (d,) . rows (s, d), times their scales (s,) where there are any: (s,)."""
    total = rows.astype(np.float64) @ query.astype(np.float64)
    scores: Scores = (total * scales if len(scales) else total).astype(np.float32)
    return scores
