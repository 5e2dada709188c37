from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from xorec.representations.base import StoredAs
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.search.index import index_of
from xorec.search.postings import PostingIndex
from xorec.testing.indexes import KINDS, IndexTests, Ranks

Floats = npt.NDArray[np.float32]


class Items:
    """Weights (sources, m) from items to items: whole numbers, so that sums are exact."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights

    def __getitem__(self, rows: Any) -> Items:
        return Items(self.weights[:, rows])


class TestPostings(IndexTests):
    """Of small whole numbers, many of them zero: ties abound, above zero, at zero and below."""

    keep: StoredAs = "float32"

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Items:
        few = {"equal": 1, "duplicates": max(1, n // 8)}.get(kind, n)
        assert kind in KINDS
        some = rng.integers(-3, 4, (20, few)) * (rng.random((20, few)) < rng.choice([0.01, 0.5]))
        return Items(some.astype(np.float32)[:, rng.integers(few, size=n)])

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Histories:
        m = items.weights.shape[1]
        rows = rng.integers(-2, 3, (n, m)).astype(np.float32)
        rows[:, 20:] = 0
        if bits % 3:
            rows = np.abs(np.sign(rows))
        return Histories.of(csr_array(rows))

    def one(self, queries: Histories, b: int) -> Histories:
        return queries[b : b + 1]

    def make(self, items: Items, bits: int, tie_rank: Ranks) -> PostingIndex:
        m = items.weights.shape[1]
        square = np.zeros((m, m), dtype=np.float32)
        square[: min(20, m)] = items.weights[: min(20, m)]
        history: csr_array[np.float32] = csr_array(np.zeros((1, m), dtype=np.float32))
        index = index_of(Neighbours.of(csr_array(square), history, self.keep), tie_rank)
        assert isinstance(index, PostingIndex)
        return index

    def costs(self, items: Items, query: Histories, bits: int) -> npt.NDArray[Any]:
        m = items.weights.shape[1]
        dense = query.toarray()[0, : min(20, m)].astype(np.int64)
        return -(dense @ items.weights[: min(20, m)].astype(np.int64)).astype(np.float64)
