"""Comparisons: fits as tasks are those in turn, what each learns from; what serving costs."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random_array

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.core.threads import _libraries, one_blas_thread
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import SIML
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.shared_scores import SharedScores
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Vectors
from xorec.search.hamming.index import HammingIndex
from xorec.search.index import ScoreIndex
from xorec.selection.comparison import (
    EASE_ITEMS,
    Parts,
    compare_models,
    fitted,
    ladder,
    make_models,
)
from xorec.selection.model_specs import parse_spec
from xorec.selection.serving import serving_cost
from xorec.selection.shared_work import vectors_learned_once
from xorec.testing.data import planted
from xorec.testing.engines import InProcess

PARTS = split(planted(80, 60), test=0.2, validation=0.2)
HERE = RunOptions(threads=1, seed=3)
ELSEWHERE = replace(HERE, engine=InProcess(2))


def test_all_that_was_learned_comes_back() -> None:
    models: list[Model[Any]] = [BPR(epochs=3), DSIML(bits=16, epochs=2, start={"epochs": 2})]
    parts = Parts(PARTS.train, PARTS.validation)
    one, other = (list(fitted(models, parts, options)) for options in (HERE, ELSEWHERE))
    for here, there in zip(one, other, strict=True):
        assert there.model.config == here.model.config
        assert there.model.refit_settings() == here.model.refit_settings()
        assert there.model.history_ == here.model.history_
        assert there.model.item_ids == here.model.item_ids
        assert there.seconds > 0
        mine, theirs = (fit.model.representation_.tensors() for fit in (here, there))
        assert mine.keys() == theirs.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_vectors_that_several_start_from_are_learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learned, learn = list[Any](), SIML._learn

    def counted(*arguments: Any) -> Any:
        learned.append(arguments)
        return learn(*arguments)

    monkeypatch.setattr(SIML, "_learn", counted)
    how: dict[str, Any] = {"settings": {"dsiml": {"start": {"epochs": 2, "dimensions": 16}}}}
    with vectors_learned_once(replace(ELSEWHERE, engine=InProcess(1))) as options:
        compare_models(
            replace(PARTS, validation=None),
            ["dsiml:epochs=1", "dsiml:epochs=2"],
            **how,
            bits=(16,),
            options=options,
        )
    assert len(learned) == 1


def test_a_fit_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise XorecError("bpr diverged in epoch 3")

    monkeypatch.setattr(BPR, "_learn", fails)
    with pytest.raises(XorecError, match="diverged in epoch 3"):
        compare_models(PARTS, ["bpr"], options=ELSEWHERE)


def test_a_contender_learns_from_validation_pairs_too_and_is_not_ranked_against_them() -> None:
    parts = split(planted(80, 60), test=0.2, validation=0.2)
    assert parts.validation is not None
    known = parts.train.union(parts.validation)
    (found,) = compare_models(parts, ["item-knn"], ks=(10,))
    plain = evaluate(ItemKNN().fit(known).representation_, known, parts.test, ks=(10,))
    assert found.evaluation.metrics == plain.metrics


def test_the_ladder_goes_from_few_bits_to_the_served_recipe() -> None:
    made = make_models([parse_spec(text) for text in ladder(1000)])
    names = [model.name for _, model in made]
    assert names == [
        *("popularity", "dsiml", "dsiml", "dsiml", "dsiml", "slim", "slim", "ease", "siml", "blend")
    ]
    assert [model.config.bits for _, model in made if model.name == "dsiml"] == [20, 32, 64, 64]
    assert [model.config.weight_dtype for _, model in made if model.name == "slim"] == [
        "int8",
        "float32",
    ]
    assert [model.config.shortlist for _, model in made if model.name == "dsiml"] == [0, 0, 0, 200]
    assert "ease" not in ladder(EASE_ITEMS + 1)
    assert ladder(10, bits=(16, 128))[1:3] == ("dsiml:bits=16", "dsiml:bits=128")


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
