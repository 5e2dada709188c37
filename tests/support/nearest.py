"""The nearest codes by plain counting, for the tests of the Hamming index."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.bits import Words, pack_signs
from xorec.search.hamming.lut import SevenBitTables
from xorec.search.hits import Hits
from xorec.testing.indexes import Ranks, best, hamming


def check_nearest(
    hits: Hits, codes: Words, queries: Words, rank: Ranks, k: int, hidden: Any = None
) -> None:
    """Items, order, distances and counts; hidden: the rows that each query may not show."""
    for b, query in enumerate(queries):
        rows, far = best(hamming(codes, query), rank, k, set(hidden[b]) if hidden else set())
        assert hits.row(b)[0].tolist() == rows
        assert hits.distances is not None
        assert hits.distances[b, : len(rows)].tolist() == far


def low_rank(rng: np.random.Generator, rows: int, bits: int, rank: int = 8) -> Words:
    """Codes with few directions, as learned ones have: some are near to many."""
    mixing = np.random.default_rng(9).standard_normal((rank, bits))
    return pack_signs(rng.standard_normal((rows, rank)) @ mixing)


def as_bools(words: Words) -> npt.NDArray[np.bool_]:
    """The bits of words, one bool for each."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.bool_)


def always_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By seven-bit tables even where they do not pay."""

    def cost(self: SevenBitTables, queries: int, k: int) -> float:
        return -1.0 if len(self.segment) and queries else float("inf")

    monkeypatch.setattr(SevenBitTables, "cost", cost)
