"""What serving costs: time and bytes."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random_array

from xorec.core.threads import _libraries, one_blas_thread
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.shared_scores import SharedScores
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Vectors
from xorec.search.hamming.index import HammingIndex
from xorec.search.index import ScoreIndex
from xorec.selection.serving import serving_cost

USERS, ITEMS, DIMENSIONS = 200, 20_000, 64
"""So many scores that BLAS would share them among its threads."""


def some_pairs() -> Interactions:
    users = np.repeat(np.arange(USERS), 5)
    items = np.random.default_rng(0).integers(0, ITEMS, len(users))
    rows = Ids("int64", np.arange(USERS)), Ids("int64", np.arange(ITEMS))
    return Interactions.from_rows(*rows, users, items)


def some_vectors(seed: int) -> Vectors:
    numbers = np.random.default_rng(seed)
    shapes = ((USERS, DIMENSIONS), (ITEMS, DIMENSIONS))
    return Vectors(*(numbers.normal(size=shape).astype(np.float32) for shape in shapes))


class Watching(Vectors):
    """Notes how many threads BLAS has while it scores."""

    threads: set[int]

    def score(self, queries: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        self.threads |= {library.get_num_threads() for library in _libraries()}
        return super().score(queries)


def test_vectors_of_the_same_shape_take_the_same_time() -> None:
    pairs = some_pairs()
    times = [serving_cost(some_vectors(seed), pairs).us_per_query for seed in range(2)]
    assert max(times) < 3 * min(times)


def test_bytes_are_those_of_items_alone() -> None:
    """Whatever is kept for users, and however many there are: codes, histories, vectors."""
    pairs, rng = some_pairs(), np.random.default_rng(1)
    users, items = (rng.normal(size=(n, 64)).astype(np.float32) for n in (USERS, ITEMS))
    codes, weights = Codes.from_signs(users, items), some_weights(pairs)
    order, tie_rank = 4, 4
    assert bytes_per_item(Vectors(users, items)) == 4 * 64 + tie_rank
    assert bytes_per_item(SharedScores(items[:, 0], USERS)) == 4 + tie_rank
    lists = weights.postings
    stored = lists.indptr.nbytes + lists.items.nbytes + lists.weights.nbytes
    assert bytes_per_item(weights) == pytest.approx(stored / ITEMS + order + tie_rank)
    by_code = bytes_per_item(codes)
    assert by_code == HammingIndex.of(codes, np.arange(ITEMS, dtype=np.int32)).nbytes / ITEMS
    both = TwoStage(codes, RankingVectors.of(users, items, "int8"), weights, Sources(10, 10))
    scale = 4
    assert bytes_per_item(both) == pytest.approx(by_code + 64 + scale + stored / ITEMS)


def bytes_per_item(learned: Representation) -> float:
    return serving_cost(learned, some_pairs()).bytes_per_item


def some_weights(pairs: Interactions) -> Neighbours:
    how: dict[str, Any] = {"density": 1e-4, "format": "csr", "dtype": np.float32, "rng": 0}
    similarity: Any = random_array((ITEMS, ITEMS), **how)
    return Neighbours.of(similarity, pairs.matrix().astype(np.float32))


def test_a_single_query_is_scored_by_one_blas_thread() -> None:
    plain = some_vectors(0)
    vectors = Watching(plain.user_vectors, plain.item_vectors)
    vectors.threads = set()
    index = ScoreIndex(vectors, np.arange(ITEMS, dtype=np.int32))
    before = [library.get_num_threads() for library in _libraries()]
    index.search(vectors.queries(np.array([3])), 10)
    assert vectors.threads == {1}
    assert [library.get_num_threads() for library in _libraries()] == before


def test_blocks_that_overlap_in_two_threads_leave_blas_as_it_was() -> None:
    before = [library.get_num_threads() for library in _libraries()]
    both = Barrier(2)

    def enter_first_and_leave_first() -> None:
        with one_blas_thread():
            both.wait()
            both.wait()  # the other one is in
        both.wait()

    other = Thread(target=enter_first_and_leave_first)
    other.start()
    both.wait()
    with one_blas_thread():
        both.wait()
        both.wait()  # the other one is out
    other.join()
    assert [library.get_num_threads() for library in _libraries()] == before
