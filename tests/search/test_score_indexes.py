"""Every index of float scores, by the kit; scores are those of the representation, to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

from xorec.core.bits import unpack_signs
from xorec.core.errors import DataError
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes
from xorec.representations.composed import ComposedCodes, ComposedQueries
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.representations.vectors import Vectors
from xorec.search.code_scores import ComposedIndex, LookUpIndex
from xorec.search.index import Index, ScoreIndex, index_of
from xorec.search.postings import PostingIndex
from xorec.search.top_k import top_k
from xorec.testing.indexes import KINDS, IndexTests, Ranks, make_codes

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint64]


def whole_numbers(rng: np.random.Generator, *shape: int) -> Floats:
    """Small, so that sums are exact in any order and ties abound."""
    return rng.integers(-2, 3, shape).astype(np.float32)


def few_of(kind: str, n: int) -> int:
    """How many different items there are among n of this kind."""
    assert kind in KINDS
    return {"equal": 1, "duplicates": max(1, n // 8)}.get(kind, n)


@dataclass
class Weighted:
    """Codes (n, W) and their weights (n, G)."""

    codes: npt.NDArray[Any]
    floats: Floats

    def __getitem__(self, rows: Any) -> Weighted:
        return Weighted(self.codes[rows], self.floats[rows])


class TestComposed(IndexTests):
    """Few different weights, so that scores tie; a third of them 0."""

    groups: ClassVar = {8: 1, 20: 4, 64: 8, 100: 10, 128: 8, 130: 10, 256: 1}

    def weights(self, rng: np.random.Generator, n: int, bits: int) -> Floats:
        return (rng.integers(0, 3, (n, self.groups[bits])) / 3).astype(np.float32)

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Weighted:
        own = self.weights(rng, n, bits)
        if kind == "equal":
            own[:] = own[:1]
        return Weighted(make_codes(rng, n, bits, kind), own)

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> ComposedQueries:
        return ComposedQueries(make_codes(rng, n, bits, "spread"), self.weights(rng, n, bits))

    def make(self, items: Weighted, bits: int, tie_rank: Ranks) -> Index:
        codes = ComposedCodes(items.codes, items.codes, items.floats, items.floats, bits)
        return made(codes, tie_rank, ComposedIndex)

    def costs(self, items: Weighted, query: ComposedQueries, bits: int) -> Floats:
        groups = self.groups[bits]
        own = unpack_signs(items.codes, bits).astype(np.int64).reshape(-1, groups, bits // groups)
        user = unpack_signs(query.words, bits).astype(np.int64).reshape(groups, -1)
        scores = np.zeros(len(own), dtype=np.float32)
        for g in range(groups):
            agreement = (own[:, g] @ user[g]).astype(np.float32)
            scores += items.floats[:, g] * (query.weights[0, g] * agreement)
        return -scores


class TestFloatUsersAgainstBits(IndexTests):
    """By look-up tables, as codebooks are."""

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Floats:
        return whole_numbers(rng, n, bits)

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> Index:
        users = np.zeros((1, bits), dtype=np.float32)
        return made(Codes(items[:1], items, bits, users), tie_rank, LookUpIndex)

    def costs(self, items: Words, query: Floats, bits: int) -> Floats:
        return -(unpack_signs(items, bits).astype(np.float32) @ query.reshape(-1))


class TestPostings(IndexTests):
    """Weights (sources, m), many of them zero: ties abound, above zero, at zero and below."""

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Floats:
        """By row: the weights of 20 sources for each item."""
        few = few_of(kind, n)
        some = rng.integers(-3, 4, (20, few)) * (rng.random((20, few)) < rng.choice([0.01, 0.5]))
        return np.asarray(some[:, rng.integers(few, size=n)].T, dtype=np.float32)

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Floats) -> Histories:
        rows = whole_numbers(rng, n, len(items))
        rows[:, 20:] = 0
        if bits % 3:
            rows = np.abs(np.sign(rows))
        return Histories.of(csr_array(rows))

    def one(self, queries: Histories, b: int) -> Histories:
        return queries[b : b + 1]

    def make(self, items: Floats, bits: int, tie_rank: Ranks) -> Index:
        m = len(items)
        square = np.zeros((m, m), dtype=np.float32)
        square[: min(20, m)] = items.T[: min(20, m)]
        history: csr_array[np.float32] = csr_array(np.zeros((1, m), dtype=np.float32))
        learned = Neighbours.of(csr_array(square), history, "float32")
        return made(learned, tie_rank, PostingIndex)

    def costs(self, items: Floats, query: Histories, bits: int) -> npt.NDArray[Any]:
        sources = min(20, len(items))
        dense = query.toarray()[0, :sources].astype(np.int64)
        return -(items[:, :sources].astype(np.int64) @ dense).astype(np.float64)


class TestScores(IndexTests):
    """Of vectors of small whole numbers."""

    @pytest.fixture(autouse=True)
    def _small_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of 8 queries, so that a batch has several and the last one is not full."""
        monkeypatch.setattr("xorec.search.index.BLOCK_BYTES", 1)

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Floats:
        few = few_of(kind, n)
        return rng.integers(-1, 2, (few, bits)).astype(np.float32)[rng.integers(few, size=n)]

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Floats:
        return whole_numbers(rng, n, bits)

    def one(self, queries: Floats, b: int) -> Floats:
        return queries[b : b + 1]

    def make(self, items: Floats, bits: int, tie_rank: Ranks) -> Index:
        return made(Vectors(items[:1], items), tie_rank, ScoreIndex)

    def costs(self, items: Floats, query: Floats, bits: int) -> npt.NDArray[Any]:
        return np.asarray(-(items.astype(np.int64) @ query.astype(np.int64)), dtype=np.float64)


def made(representation: Any, tie_rank: Ranks, kind: type[Index]) -> Index:
    index = index_of(representation, tie_rank)
    assert isinstance(index, kind)
    return index


@pytest.mark.parametrize("users", [1, 7, 33])
def test_scores_are_those_of_the_representation_to_the_bit(users: int) -> None:
    rng = np.random.default_rng(0)
    vectors, rank = rng.standard_normal((users, 64)), rng.permutation(2000).astype(np.int32)
    own, weights = (rng.random((n, 8)).astype(np.float32) for n in (users, 2000))
    words, books = make_codes(rng, 2000, 64, "clusters"), rng.standard_normal((9, 256, 64))
    codes = rng.integers(256, size=(2000, 9)).astype(np.uint8)
    users_words = make_codes(rng, users, 64, "spread")
    composed = ComposedCodes(users_words, words, own, weights, 64)
    rows = np.arange(users)
    for learned in (
        composed,
        Codebooks(vectors.astype(np.float32), codes, books.astype(np.float32)),
        Codes(words[:users], words, 64, vectors.astype(np.float32)),
    ):
        hits = index_of(learned, rank).search(learned.queries(rows), 30)
        expected = top_k(learned.scores(rows), 30, rank)
        np.testing.assert_array_equal(hits.items, expected.items)
        np.testing.assert_array_equal(hits.scores, expected.scores)
        assert hits.distances is None
    index = index_of(composed, rank)
    assert "bytes an item" in index.explain()
    assert index.nbytes == 2000 * (8 + 4 * 8 + 8)
    assert index.tensors() == {}


def test_bad_queries_are_refused() -> None:
    rng = np.random.default_rng(0)
    words = make_codes(rng, 10, 20, "spread")
    learned = Codes(words, words, 20, whole_numbers(rng, 10, 20))
    index = index_of(learned, np.arange(10, dtype=np.int32))
    with pytest.raises(DataError, match="19 numbers but 20 are needed"):
        index.search(whole_numbers(rng, 2, 19), 3)
    with pytest.raises(DataError, match="NaN or infinity"):
        index.search(np.full((1, 20), np.nan, dtype=np.float32), 3)
