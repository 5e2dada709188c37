"""The tables of multi-index hashing: building them, and their tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.bits import Words
from xorec.threads import Team

_MASKS = 1 << 17
"""Masks that are kept: queries that need more are scanned."""
WIDEST = 26
"""Bits of the longest substring: its table has 2**26 buckets."""


@dataclass(frozen=True, eq=False)
class Tables:
    """T tables over the same items, each by its own substring of the code.

    starts (T, buckets + 1) int32, full (T, buckets / 64): see `tables_kernels.fill_table`.
    places (T, n) int32 and copies (T, n W) uint64: the items in the order of the buckets.
    """

    begins: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]
    rings: npt.NDArray[np.int64]
    masks: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int32]
    full: Words
    places: npt.NDArray[np.int32]
    copies: Words

    @classmethod
    def build(
        cls, codes: Words, rows: npt.NDArray[np.int32], bits: int, tables: int, team: Team
    ) -> Tables:
        """`tables` tables of the items codes[rows] (m, W)."""
        from xorec.search.tables_kernels import fill_table

        begins, widths = substrings(bits, tables)
        buckets = 1 << int(widths.max())
        starts = np.zeros((tables, buckets + 1), dtype=np.int32)
        full = np.zeros((tables, -(-buckets // 64)), dtype=np.uint64)
        places = np.empty((tables, len(rows)), dtype=np.int32)
        copies = np.empty((tables, codes.size // len(codes) * len(rows)), dtype=np.uint64)
        team.each(
            tables,
            lambda t: fill_table(
                codes, rows, begins[t], widths[t], starts[t], full[t], places[t], copies[t]
            ),
        )
        return cls(begins, widths, *rings_of(widths), starts, full, places, copies)

    def __len__(self) -> int:
        return len(self.widths)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in (self.starts, self.full, self.places, self.copies))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps."""
        return {
            "starts": self.starts,
            "full": self.full,
            "places": self.places,
            "copies": self.copies,
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]], bits: int) -> Tables:
        """The inverse of `tensors`."""
        starts, full, places, copies = (
            tensors[name] for name in ("starts", "full", "places", "copies")
        )
        begins, widths = substrings(bits, len(starts))
        return cls(begins, widths, *rings_of(widths), starts, full, places, copies)


def bytes_for(bits: int, tables: int, items: int) -> int:
    """Bytes of that many tables."""
    _, widths = substrings(bits, tables)
    buckets, words = 1 << int(widths.max()), -(-bits // 64)
    return tables * ((4 + 8 * words) * items + 4 * (buckets + 1) + buckets // 8)


def substrings(bits: int, tables: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(where each substring begins, its width): consecutive, as equal as can be."""
    edges = np.array([bits * t // tables for t in range(tables + 1)], dtype=np.int64)
    return edges[:-1].copy(), np.diff(edges)


def rings_of(
    widths: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """(rings, masks): see `tables_kernels.probe`.

    The masks of a ring ascend, so a narrower table's are the first ones of a wider table's.
    """
    widest = int(widths.max())
    ring = np.zeros(1, dtype=np.uint32)
    masks, sizes, total = [ring], [[*(1 for _ in widths), 0]], 1
    for radius in range(1, widest + 1):
        if total + comb(widest, radius) > _MASKS:
            break
        ring = np.concatenate(
            [
                ring[: comb(high, radius - 1)] | np.uint32(1 << high)
                for high in range(radius - 1, widest)
            ]
        )
        sizes.append([*(comb(int(width), radius) for width in widths), total])
        masks.append(ring)
        total += len(ring)
    return np.array(sizes, dtype=np.int64), np.concatenate(masks)
