from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.bits import unpack_signs
from xorec.core.errors import DataError
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes
from xorec.search.code_scores import LookUpIndex
from xorec.search.index import index_of
from xorec.search.top_k import top_k
from xorec.testing.indexes import IndexTests, Ranks, make_codes

Floats = npt.NDArray[np.float32]


def whole_numbers(rng: np.random.Generator, *shape: int) -> Floats:
    """Small, so that sums are exact in any order and ties abound."""
    return rng.integers(-2, 3, shape).astype(np.float32)


@dataclass
class Coded:
    codes: npt.NDArray[np.uint8]
    books: Floats


class TestCodebooks(IndexTests):
    """bits / 4 books of 16 words."""

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Coded:
        books = whole_numbers(rng, bits // 4, 16, 6)
        codes = rng.integers(16, size=(n, bits // 4)).astype(np.uint8)
        if kind == "equal":
            codes[:] = codes[:1]
        if kind == "duplicates":
            codes = codes[rng.integers(max(1, n // 8), size=n)]
        return Coded(codes, books)

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Floats:
        return whole_numbers(rng, n, 6)

    def take(self, items: Coded, rows: npt.NDArray[np.integer]) -> Coded:
        return Coded(items.codes[rows], items.books)

    def make(self, items: Coded, bits: int, tie_rank: Ranks) -> LookUpIndex:
        users = np.zeros((1, 6), dtype=np.float32)
        index = index_of(Codebooks(users, items.codes, items.books), tie_rank)
        assert isinstance(index, LookUpIndex)
        return index

    def costs(self, items: Coded, query: Floats, bits: int) -> Floats:
        words: Floats = items.books[np.arange(bits // 4), items.codes].sum(axis=1)
        return -(words @ query.reshape(-1))


class TestFloatUsersAgainstBits(IndexTests):
    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Floats:
        return whole_numbers(rng, n, bits)

    def make(self, items: npt.NDArray[np.uint64], bits: int, tie_rank: Ranks) -> LookUpIndex:
        users = np.zeros((1, bits), dtype=np.float32)
        index = index_of(Codes(items[:1], items, bits, users), tie_rank)
        assert isinstance(index, LookUpIndex)
        return index

    def costs(self, items: npt.NDArray[np.uint64], query: Floats, bits: int) -> Floats:
        return -(unpack_signs(items, bits).astype(np.float32) @ query.reshape(-1))


@pytest.mark.parametrize("users", [1, 7, 33])
def test_scores_are_those_of_the_representation_to_the_bit(users: int) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((users, 64)).astype(np.float32)
    codes = rng.integers(256, size=(2000, 9)).astype(np.uint8)
    books = Codebooks(vectors, codes, rng.standard_normal((9, 256, 64)).astype(np.float32))
    words = make_codes(rng, 2000, 64, "clusters")
    rank, rows = rng.permutation(2000).astype(np.int32), np.arange(users)
    for one in (books, Codes(words[:users], words, 64, vectors)):
        hits, expected = (
            index_of(one, rank).search(one.queries(rows), 30),
            top_k(one.scores(rows), 30, rank),
        )
        np.testing.assert_array_equal(hits.items, expected.items)
        np.testing.assert_array_equal(hits.scores, expected.scores)


def test_bad_queries_are_refused() -> None:
    rng = np.random.default_rng(0)
    words = make_codes(rng, 10, 20, "spread")
    index = index_of(
        Codes(words, words, 20, whole_numbers(rng, 10, 20)), np.arange(10, dtype=np.int32)
    )
    with pytest.raises(DataError, match="19 numbers but 20 are needed"):
        index.search(whole_numbers(rng, 2, 19), 3)
    with pytest.raises(DataError, match="NaN or infinity"):
        index.search(np.full((1, 20), np.nan, dtype=np.float32), 3)
