"""Float rankings against brute force, in every way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.lab.bench.data import without_bias
from xorec.lab.bench.float_ranking import WAYS, WHOLE, FloatRanking, Way, fastest_way
from xorec.representations.vectors import Vectors

from .conftest import Drawn, seen_by

ODD = (
    Way(3, 7, "a block each"),
    Way(5, WHOLE, "a block each", "argpartition"),
    Way(4, 6, "one block", "argpartition"),
    Way(300, 20, "one block"),
)


def best_by_hand(drawn: Drawn, user: int, k: int) -> list[int]:
    data, seen = drawn
    items, queries = data.vectors
    scores = items.astype(np.float64) @ queries[user].astype(np.float64)
    scores[seen_by(seen, user)] = -np.inf
    return [int(item) for item in np.argsort(-scores)[:k]]


@pytest.mark.parametrize("way", [*WAYS, *ODD], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_way_ranks_as_brute_force(drawn: Drawn, way: Way, threads: int) -> None:
    (items, queries), seen = drawn[0].vectors, drawn[1]
    ranking = FloatRanking(items, 10, threads, way)
    for _ in range(2):  # memory is used again
        found, scores = ranking.search(queries, seen)
        for user in range(len(queries)):
            assert found[user].tolist() == best_by_hand(drawn, user, 10)
        products = np.einsum("uki,ui->uk", items[found], queries)
        np.testing.assert_allclose(scores, products, rtol=1e-4, atol=1e-4)
        alone = ranking.search(queries[7:8], None)[0]
        assert alone[0].tolist() == np.argsort(-(items @ queries[7]))[:10].tolist()


def test_a_block_has_no_more_scores_than_its_memory() -> None:
    assert Way(32, WHOLE, "a block each").items_of(100) == 100
    assert Way(256, 8_192, "one block").items_of(10**7) == 8_192
    for way in WAYS:
        assert way.queries * way.items_of(10**7) <= 6 << 20


def test_the_fastest_way_is_taken(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    search, now = FloatRanking.search, [0.0]

    def slow_but_one(self: FloatRanking, *request: Any) -> Any:
        now[0] += 0.5 if self.way == ODD[2] else 1.0
        return search(self, *request)

    monkeypatch.setattr(FloatRanking, "search", slow_but_one)
    monkeypatch.setattr("xorec.lab.bench.float_ranking.time.perf_counter", lambda: now[0])
    found = fastest_way(*drawn[0].vectors, drawn[1], 10, 1, ODD)
    assert found == ODD[2]


def test_a_bias_is_one_more_dimension() -> None:
    rng = np.random.default_rng(0)
    vectors = Vectors(*(rng.random(shape, dtype=np.float32) for shape in ((4, 3), (6, 3), 6)))
    users, items = without_bias(vectors)
    np.testing.assert_allclose(users @ items.T, vectors.score(vectors.user_vectors), rtol=1e-6)
