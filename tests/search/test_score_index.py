from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.representations.vectors import Vectors
from xorec.search.index import index_of
from xorec.search.score_index import ScoreIndex
from xorec.testing.indexes import KINDS, IndexTests, Ranks

Floats = npt.NDArray[np.float32]


class TestScores(IndexTests):
    """Of vectors of small whole numbers: sums are exact in any order, and ties abound."""

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of 8 queries, so that a batch has several and the last one is not full."""
        monkeypatch.setattr("xorec.search.score_index.BLOCK_BYTES", 1)

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Floats:
        few = {"equal": 1, "duplicates": max(1, n // 8)}.get(kind, n)
        assert kind in KINDS
        return rng.integers(-1, 2, (few, bits)).astype(np.float32)[rng.integers(few, size=n)]

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Floats:
        return rng.integers(-2, 3, (n, bits)).astype(np.float32)

    def one(self, queries: Floats, b: int) -> Floats:
        return queries[b : b + 1]

    def make(self, items: Floats, bits: int, tie_rank: Ranks) -> ScoreIndex:
        index = index_of(Vectors(items[:1], items), tie_rank)
        assert isinstance(index, ScoreIndex)
        return index

    def costs(self, items: Floats, query: Floats, bits: int) -> npt.NDArray[Any]:
        return np.asarray(-(items.astype(np.int64) @ query.astype(np.int64)), dtype=np.float64)
