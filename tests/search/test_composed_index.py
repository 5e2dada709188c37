from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import unpack_signs
from xorec.representations.composed import ComposedCodes, ComposedQueries
from xorec.search.code_scores import ComposedIndex
from xorec.search.index import index_of
from xorec.search.top_k import top_k
from xorec.testing.indexes import IndexTests, Ranks, make_codes

GROUPS = {8: 1, 20: 4, 64: 8, 100: 10, 128: 8, 130: 10, 256: 1}


@dataclass
class Items:
    codes: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float32]


def weights(rng: np.random.Generator, n: int, bits: int) -> npt.NDArray[np.float32]:
    """Few different ones, so that scores tie; a third of them 0."""
    return (rng.integers(0, 3, (n, GROUPS[bits])) / 3).astype(np.float32)


class TestComposed(IndexTests):
    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Items:
        own = weights(rng, n, bits)
        if kind == "equal":
            own[:] = own[:1]
        return Items(make_codes(rng, n, bits, kind), own)

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> ComposedQueries:
        return ComposedQueries(make_codes(rng, n, bits, "spread"), weights(rng, n, bits))

    def take(self, items: Items, rows: npt.NDArray[np.integer]) -> Items:
        return Items(items.codes[rows], items.weights[rows])

    def make(self, items: Items, bits: int, tie_rank: Ranks) -> ComposedIndex:
        codes = ComposedCodes(items.codes, items.codes, items.weights, items.weights, bits)
        index = index_of(codes, tie_rank)
        assert isinstance(index, ComposedIndex)
        return index

    def costs(self, items: Items, query: ComposedQueries, bits: int) -> npt.NDArray[np.float32]:
        groups = GROUPS[bits]
        own = unpack_signs(items.codes, bits).astype(np.int64).reshape(-1, groups, bits // groups)
        user = unpack_signs(query.words, bits).astype(np.int64).reshape(groups, -1)
        scores = np.zeros(len(own), dtype=np.float32)
        for g in range(groups):
            agreement = (own[:, g] @ user[g]).astype(np.float32)
            scores += items.weights[:, g] * (query.weights[0, g] * agreement)
        return -scores


def test_scores_are_those_of_the_representation_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    users, items = (rng.random((n, 8)).astype(np.float32) for n in (40, 2000))
    words = make_codes(rng, 40, 64, "spread"), make_codes(rng, 2000, 64, "clusters")
    codes, rank = ComposedCodes(*words, users, items, 64), rng.permutation(2000).astype(np.int32)
    index, rows = index_of(codes, rank), np.arange(40)
    hits, expected = index.search(codes.queries(rows), 30), top_k(codes.scores(rows), 30, rank)
    np.testing.assert_array_equal(hits.items, expected.items)
    np.testing.assert_array_equal(hits.scores, expected.scores)
    assert hits.distances is None
    assert "bytes an item" in index.explain()
    assert index.nbytes == 2000 * (8 + 4 * 8 + 8)
    assert index.tensors() == {}
