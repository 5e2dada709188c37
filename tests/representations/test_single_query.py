"""One query in plain NumPy: to the bit the scores of the kernels, which a batch takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.support.two_stage import random_weights, two_stage
from xorec.core.bits import pack_signs
from xorec.core.threads import ThreadPool
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.representations.item_weights import ItemWeights
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.search.index import index_of

Make = Callable[[np.random.Generator], Representation]
_USERS, _ITEMS = 5, 700


def words(rng: np.random.Generator, n: int, bits: int) -> Any:
    return pack_signs(rng.standard_normal((n, bits)))


def floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def codes(bits: int, kind: type[Codes] = Codes, asymmetric: bool = False) -> Make:
    def make(rng: np.random.Generator) -> Codes:
        vectors = floats(rng, _USERS, bits) if asymmetric else None
        return kind(words(rng, _USERS, bits), words(rng, _ITEMS, bits), bits, vectors)

    return make


def shortlist(bits: int, keep: Any, vectors: bool = True) -> Make:
    def make(rng: np.random.Generator) -> TwoStage:
        length = 24 if vectors else bits
        items = floats(rng, _ITEMS, length) if vectors else None
        plain = Codes(words(rng, _USERS, bits), words(rng, _ITEMS, bits), bits)
        return two_stage(plain, floats(rng, _USERS, length), items, 60, keep)

    return make


def blended(rng: np.random.Generator) -> TwoStage:
    plain = Codes(words(rng, _USERS, 20), words(rng, _ITEMS, 20), 20)
    vectors = RankingVectors.of(floats(rng, _USERS, 24), floats(rng, _ITEMS, 24), "int8")
    weights = random_weights(rng, _USERS, _ITEMS, 30)
    return TwoStage(plain, vectors, weights, Sources(10, 20, 4, 15), 0.25)


def composed(rng: np.random.Generator) -> ComposedCodes:
    users, items = floats(rng, _USERS, 5), floats(rng, _ITEMS, 5)
    users[1, 2] = 0
    return ComposedCodes(words(rng, _USERS, 60), words(rng, _ITEMS, 60), users, items, 60)


def codebooks(rng: np.random.Generator) -> Codebooks:
    names = rng.integers(100, size=(_ITEMS, 7)).astype(np.uint8)
    return Codebooks(floats(rng, _USERS, 9), names, floats(rng, 7, 100, 9))


def item_weights(rng: np.random.Generator) -> ItemWeights:
    some = np.sort(rng.choice(_ITEMS, 500, replace=False)).astype(np.int32)
    history = csr_array((rng.random((_USERS, _ITEMS)) < 0.1).astype(np.float32))
    return ItemWeights(floats(rng, 500, 500), some, history)


def with_offsets(rng: np.random.Generator) -> Codes:
    plain = codes(20)(rng)
    assert isinstance(plain, Codes)
    offsets = rng.integers(0, 16, _ITEMS)
    return Codes(plain.user_rows, plain.item_rows, 20, item_offsets=offsets)


KINDS: dict[str, Make] = {
    "offsets": with_offsets,
    "20 bits": codes(20),
    "128 bits": codes(128),
    "masked": codes(70, MaskedCodes),
    "float users": codes(21, asymmetric=True),
    "many bits of float users": codes(130, asymmetric=True),
    "float32": shortlist(20, "float32"),
    "float16": shortlist(20, "float16"),
    "int8": shortlist(64, "int8"),
    "float users of a shortlist": shortlist(21, "float32", vectors=False),
    "blended": blended,
    "composed": composed,
    "codebooks": codebooks,
    "item weights": item_weights,
}


@pytest.fixture(params=KINDS)
def learned(request: pytest.FixtureRequest) -> Representation:
    made: Representation = KINDS[request.param](np.random.default_rng(5))
    return made


def never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xorec.core.kernels.is_loaded", lambda kernel: False)


def test_scores_are_those_of_a_batch_to_the_bit(
    learned: Representation, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.arange(_USERS)
    batch = learned.scores(rows)
    if isinstance(learned, TwoStage):  # which scores its users one by one
        every = np.tile(np.arange(_ITEMS, dtype=np.int32), (_USERS, 1))
        with ThreadPool(1) as pool:
            queries = learned.queries(rows)
            products = learned.vector_scores(queries, (every, np.full(_USERS, _ITEMS)), pool)
        sums = None if learned.weights is None else learned.weights.scores(rows)
        batch = learned.combine(sums, products)
    never_loaded(monkeypatch)
    for b in rows:
        np.testing.assert_array_equal(learned.scores(rows[b : b + 1])[0], batch[b])


def test_lists_are_those_of_a_batch(
    learned: Representation, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, rows = np.random.default_rng(6), np.arange(_USERS)
    rank = rng.permutation(_ITEMS).astype(np.int32)
    index, fresh = (index_of(learned, rank, threads=1) for _ in range(2))
    filters: Any = {"deny": rng.choice(_ITEMS, 50), "allow": rng.choice(_ITEMS, 400)}
    lists = [np.flatnonzero(rng.random(_ITEMS) < 0.2).astype(np.int32) for _ in rows]
    seen = np.cumsum([0, *map(len, lists)]), np.concatenate(lists)
    hits = index.search(learned.queries(rows), 30, exclude=seen, **filters)
    never_loaded(monkeypatch)
    for b in range(_USERS):
        exclude = np.array([0, len(lists[b])]), lists[b]
        one = fresh.search(learned.queries(rows[b : b + 1]), 30, exclude=exclude, **filters)
        for found, expected in zip(one.row(0), hits.row(b), strict=True):
            np.testing.assert_array_equal(found, expected)
