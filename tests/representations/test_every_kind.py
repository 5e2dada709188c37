"""All representations: one query in plain NumPy equals a batch to the bit; files give them back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.support.two_stage import random_weights, two_stage
from xorec.core.bits import pack_signs
from xorec.core.schema import check_tensors
from xorec.core.threads import ThreadPool
from xorec.recommender import storage
from xorec.representations import representation_class
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.representations.item_weights import ItemWeights
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.shared_scores import SharedScores
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Distances, Vectors
from xorec.search.index import index_of

Make = Callable[[np.random.Generator], Representation]
_USERS, _ITEMS = 5, 700


def words(rng: np.random.Generator, n: int, bits: int) -> Any:
    return pack_signs(rng.standard_normal((n, bits)))


def floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def pair(rng: np.random.Generator, bits: int) -> tuple[Any, Any, int]:
    """Codes of users and items, and their length."""
    return words(rng, _USERS, bits), words(rng, _ITEMS, bits), bits


def both(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
    """Vectors of users and items."""
    return floats(rng, _USERS, size), floats(rng, _ITEMS, size)


def codes(bits: int, kind: type[Codes] = Codes) -> Make:
    return lambda rng: kind(*pair(rng, bits))


def asymmetric(bits: int) -> Make:
    return lambda rng: Codes(*pair(rng, bits), floats(rng, _USERS, bits))


def shortlist(bits: int, keep: Any) -> Make:
    return lambda rng: two_stage(Codes(*pair(rng, bits)), *both(rng, 24), 60, keep)


def float_shortlist(rng: np.random.Generator) -> TwoStage:
    return two_stage(Codes(*pair(rng, 21)), floats(rng, _USERS, 21), None, 60)


def blended(rng: np.random.Generator) -> TwoStage:
    vectors = RankingVectors.of(*both(rng, 24), "int8")
    weights = random_weights(rng, _USERS, _ITEMS, 30)
    return TwoStage(Codes(*pair(rng, 20)), vectors, weights, Sources(10, 20, 4, 15), 0.25)


def composed(rng: np.random.Generator) -> ComposedCodes:
    users, items = both(rng, 5)
    users[1, 2] = 0
    return ComposedCodes(*pair(rng, 60)[:2], users, items, 60)


def codebooks(rng: np.random.Generator) -> Codebooks:
    names = rng.integers(100, size=(_ITEMS, 7)).astype(np.uint8)
    return Codebooks(floats(rng, _USERS, 9), names, floats(rng, 7, 100, 9))


def item_weights(rng: np.random.Generator) -> ItemWeights:
    some = np.sort(rng.choice(_ITEMS, 500, replace=False)).astype(np.int32)
    history = csr_array((rng.random((_USERS, _ITEMS)) < 0.1).astype(np.float32))
    return ItemWeights(floats(rng, 500, 500), some, history)


def with_offsets(rng: np.random.Generator) -> Codes:
    return Codes(*pair(rng, 20), item_offsets=rng.integers(0, 16, _ITEMS))


KINDS: dict[str, Make] = {
    "offsets": with_offsets,
    "20 bits": codes(20),
    "128 bits": codes(128),
    "masked": codes(70, MaskedCodes),
    "float users": asymmetric(21),
    "many bits of float users": asymmetric(130),
    "float32": shortlist(20, "float32"),
    "float16": shortlist(20, "float16"),
    "int8": shortlist(64, "int8"),
    "float users of a shortlist": float_shortlist,
    "blended": blended,
    "composed": composed,
    "codebooks": codebooks,
    "item weights": item_weights,
}
BY_BLAS: dict[str, Make] = {
    "vectors": lambda rng: Vectors(*both(rng, 6)),
    "biased vectors": lambda rng: Vectors(*both(rng, 6), floats(rng, _ITEMS)),
    "distances": lambda rng: Distances(*both(rng, 6)),
    "neighbours": lambda rng: random_weights(rng, _USERS, _ITEMS, 30),
    "shared scores": lambda rng: SharedScores(floats(rng, _ITEMS), _USERS),
}


@pytest.fixture(params=KINDS)
def learned(request: pytest.FixtureRequest) -> Representation:
    made: Representation = KINDS[request.param](np.random.default_rng(5))
    return made


@pytest.mark.parametrize("kind", KINDS | BY_BLAS)
def test_a_file_gives_back_the_same(kind: str, tmp_path: Path) -> None:
    before, rows = (KINDS | BY_BLAS)[kind](np.random.default_rng(5)), np.arange(_USERS)
    scores = before.scores(rows)
    assert scores.dtype == np.float32
    assert scores.flags.c_contiguous
    storage.write(tmp_path / "a", before.tensors(), {"model": "m", "representation": before.kind})
    tensors, metadata = storage.read(tmp_path / "a")
    check_tensors(tensors, before.schema, {"users": _USERS, "items": _ITEMS})
    after = representation_class(metadata["representation"]).from_tensors(tensors)
    assert type(after) is type(before)
    assert (after.n_users, after.n_items, after.nbytes) == (_USERS, _ITEMS, before.nbytes)
    assert after.metadata() == before.metadata()
    assert after.scores(rows).tobytes() == scores.tobytes()


NOT_LOADED = ("xorec.core.kernels.is_loaded", lambda kernel: False)


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
    monkeypatch.setattr(*NOT_LOADED)
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
    monkeypatch.setattr(*NOT_LOADED)
    for b in range(_USERS):
        exclude = np.array([0, len(lists[b])]), lists[b]
        one = fresh.search(learned.queries(rows[b : b + 1]), 30, exclude=exclude, **filters)
        for found, expected in zip(one.row(0), hits.row(b), strict=True):
            np.testing.assert_array_equal(found, expected)
