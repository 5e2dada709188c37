from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.support.two_stage import random_weights, two_stage
from xorec.core.errors import DataError
from xorec.core.kernels import is_loaded
from xorec.representations.codes import Codes
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.search.hits import FIRST_QUERIES
from xorec.search.index import SavedIndex, index_of
from xorec.search.two_stage import TwoStageIndex
from xorec.search.two_stage_kernels import search_both
from xorec.testing.indexes import as_lists, best, hamming, make_codes

KEEPS = ("float32", "float16", "int8", "asymmetric")
CASES = [
    pytest.param(keep, marks=[] if keep in ("float32", "int8") else [pytest.mark.exhaustive])
    for keep in KEEPS
]


def blended(
    rng: np.random.Generator,
    items: int,
    sources: Sources,
    keep: Any = "float32",
    *,
    weighted: bool = True,
) -> TwoStage:
    """Small whole numbers, so that sums are exact in any order and ties abound.

    Half of a vector's score is added to the item weights, where there are any.
    """
    bits = int(rng.choice([8, 20, 64, 100]))
    codes = Codes(
        make_codes(rng, 5, bits, "spread"), make_codes(rng, items, bits, "duplicates"), bits
    )
    if keep == "asymmetric":
        vectors = RankingVectors.of(rng.integers(-3, 4, (5, bits)), None)
    else:
        users, rows = (rng.integers(-3, 4, (n, 6)) for n in (5, items))
        if keep == "int8":  # its scale is 1
            users[:, 0] = rows[:, 0] = 127
        vectors = RankingVectors.of(users, rows, keep)
    kept: Any = rng.choice(KEEPS[:3])
    weights = random_weights(rng, 5, items, 6, str(kept)) if weighted else None  # type: ignore[arg-type]
    return TwoStage(codes, vectors, weights, sources, 0.5)


@pytest.mark.parametrize("keep", CASES)
def test_one_by_one_in_batches_and_on_threads(keep: Any) -> None:
    rng = np.random.default_rng(0)
    codes = Codes(make_codes(rng, 90, 64, "spread"), make_codes(rng, 3000, 64, "clusters"), 64)
    users, items = (rng.standard_normal((n, 64)) for n in (90, 3000))
    of_items = (None, 100) if keep == "asymmetric" else (items, 100, keep)
    shortlist = two_stage(codes, users, *of_items)
    index = index_of(shortlist, rng.permutation(3000).astype(np.int32))
    queries = shortlist.queries(np.arange(90))
    whole = index.search(queries, 20)
    assert np.unique(whole.counts).tolist() == [20]
    for threads in (2, 3):
        again = index.search(queries, 20, threads=threads)
        np.testing.assert_array_equal(again.items, whole.items)
        np.testing.assert_array_equal(again.scores, whole.scores)
    for b in range(90):
        alone = index.search(queries[b], 20)
        np.testing.assert_array_equal(alone.items[0], whole.items[b])
        np.testing.assert_array_equal(alone.scores[0], whole.scores[b])


def expected_candidates(
    learned: TwoStage, tie_rank: Any, user: int, k: int, hidden: set[int]
) -> set[int]:
    """What each source brings, by plain loops."""
    near, best_count, per_item, neighbours = learned.sources
    far = hamming(learned.codes.item_codes, learned.codes.user_codes[user])
    found = list(best(far, tie_rank, max(near, k), hidden)[0])
    if learned.weights is None:
        return set(found)
    others: list[int] = []
    for own in learned.weights.history[[user]].indices[::-1]:
        far = hamming(learned.codes.item_codes, learned.codes.item_codes[own])
        for item in best(far, tie_rank, per_item, {int(own)})[0]:
            if item not in hidden and item not in found and item not in others:
                others.append(int(item))
    found += others[:neighbours]
    sums = learned.weights.scores(np.array([user]))[0]
    free = [i for i in np.flatnonzero(sums > 0).tolist() if i not in hidden and i not in found]
    return {*found, *sorted(free, key=lambda row: (-sums[row], tie_rank[row]))[:best_count]}


@pytest.mark.parametrize("keep", CASES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_equals_the_oracle(keep: str, data: st.DataObject) -> None:
    near = data.draw(st.sampled_from([1, 3, 40, 1000]), label="near")
    k = data.draw(st.sampled_from([1, 3, 10, 60, 500]), label="k")
    seen = data.draw(st.sampled_from([0.0, 0.2, 0.9, 1.0]), label="seen")
    allowed = data.draw(st.sampled_from([0.02, 0.6, 1.0]), label="allowed")
    weighted = data.draw(st.booleans(), label="weighted")
    check(data, keep, near, k, (seen, allowed), weighted=weighted)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_candidates_of_several_sources_equal_the_oracle(data: st.DataObject) -> None:
    """So few of each that a wrong one is seen in the list."""
    check(data, "float32", 3, 3, (0.2, 0.6), weighted=True)


def check(
    data: st.DataObject,
    keep: str,
    near: int,
    k: int,
    shares: tuple[float, float],
    *,
    weighted: bool,
) -> None:
    """Lists of batches and of single queries, with all filters, by plain loops.

    shares: of the items that a user has seen, and of those that are allowed.
    """
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    items = data.draw(st.sampled_from([1, 2, 7, 65, 400]), label="items")
    more = st.sampled_from([0, 1, 4, 30])
    others = data.draw(st.tuples(more, more, more)) if weighted else (0, 0, 0)
    learned = blended(rng, items, Sources(near, *others), keep, weighted=weighted)
    tie_rank = rng.permutation(items).astype(np.int32)
    seen = [np.flatnonzero(rng.random(items) < shares[0]).tolist() for _ in range(5)]
    allowed = rng.random(items) < shares[1]
    deny, denied = np.flatnonzero(rng.random(items) < 0.1), set(np.flatnonzero(~allowed).tolist())
    index, queries = index_of(learned, tie_rank), learned.queries(np.arange(5))
    scores = learned.scores(np.arange(5))
    for allow in (None, allowed, np.flatnonzero(allowed), index.item_filter(allowed)):
        hits = index.search(queries, k, exclude=as_lists(seen), deny=deny, allow=allow)
        for user, own in enumerate(seen):
            hidden = {*own, *deny.tolist(), *(denied if allow is not None else ())}
            candidates = expected_candidates(learned, tie_rank, user, k, hidden)
            first = sorted(candidates, key=lambda row: (-scores[user, row], tie_rank[row]))[:k]
            alone = index.search(queries[user], k, exclude=as_lists([own]), deny=deny, allow=allow)
            for found, values in (hits.row(user), alone.row(0)):
                assert found.tolist() == first
                np.testing.assert_array_equal(values, scores[user, first])


def test_lists_of_each_query_are_as_choices_of_items() -> None:
    rng = np.random.default_rng(8)
    learned = blended(rng, 90, Sources(4, 5, 3, 9))
    index, queries = index_of(learned, np.arange(90, dtype=np.int32)), learned.queries(np.arange(5))
    lists, seen = (
        [np.flatnonzero(rng.random(90) < 0.3).tolist() for _ in range(5)] for _ in range(2)
    )
    how: Any = {"deny": np.arange(9), "threads": 2}
    hits = index.search(queries, 6, allow=as_lists(lists), exclude=as_lists(seen), **how)
    for user in range(5):
        own: Any = {"allow": np.array(lists[user]), "exclude": as_lists([seen[user]])}
        alone = index.search(queries[user], 6, **own, **how)
        np.testing.assert_array_equal(alone.items[0], hits.items[user])


def test_the_sources_of_an_item_are_those_that_bring_it() -> None:
    """Item weights bring no item that they say nothing for, however many are asked for."""
    learned = blended(np.random.default_rng(10), 40, Sources(1, 40))
    assert learned.weights is not None
    index = TwoStageIndex.of(learned, np.arange(40, dtype=np.int32))
    for user in range(5):
        query, sums = learned.queries(np.array([user])), learned.weights.scores(np.array([user]))[0]
        found = {
            item: "item weights" in index.found_by(query, item, as_lists([[]]))
            for item in range(40)
        }
        assert [item for item, by in found.items() if by] == np.flatnonzero(sums > 0).tolist()


def test_the_nearest_of_each_item_are_kept_in_a_file() -> None:
    rng = np.random.default_rng(9)
    learned, rank = blended(rng, 200, Sources(4, 5, 7, 20)), np.arange(200, dtype=np.int32)
    made, queries = index_of(learned, rank), learned.queries(np.arange(5))
    kept = index_of(learned, rank, SavedIndex(made.tensors()))
    np.testing.assert_array_equal(kept.search(queries, 9).items, made.search(queries, 9).items)
    assert "the 4 nearest codes" in made.explain()
    assert made.nbytes > learned.second_stage_nbytes
    wrong = {**made.tensors(), "item_neighbours": made.tensors()["item_neighbours"] + 200}
    with pytest.raises(DataError, match="item_neighbours has the value"):
        index_of(learned, rank, SavedIndex(wrong))


def test_a_file_without_neighbours_answers_before_there_are_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No table of neighbours is a table of none for each item, not for no item."""
    learned = blended(np.random.default_rng(9), 200, Sources(4, 5))
    rank = np.arange(200, dtype=np.int32)
    made, queries = index_of(learned, rank), learned.queries(np.arange(5))
    expected = made.search(queries, 9)
    kept = index_of(learned, rank, SavedIndex(made.tensors()))
    assert isinstance(kept, TwoStageIndex)
    monkeypatch.setattr("xorec.core.kernels.is_loaded", lambda kernel: False)
    for b in range(5):
        assert kept.search(queries[b], 9).row(0)[0].tolist() == expected.row(b)[0].tolist()
        assert isinstance(kept.found_by(queries[b], 3, as_lists([[]])), tuple)


def test_a_process_that_asks_on_gets_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one in NumPy at first; a batch, which has kernels alone, after FIRST_QUERIES."""
    learned = blended(np.random.default_rng(10), 90, Sources(4, 5))
    index, asked = index_of(learned, np.arange(90, dtype=np.int32)), []
    assert isinstance(index, TwoStageIndex)
    search = index.search

    def counted(queries: Any, k: int, **how: Any) -> Any:
        asked.append(len(queries))
        return search(queries, k, **how)

    monkeypatch.setattr(index, "search", counted)
    for _ in range(FIRST_QUERIES + 3):
        index.search(learned.queries(np.array([1])), 3)
    assert asked.count(2) == 1
    assert asked.index(2) == FIRST_QUERIES
    assert is_loaded(search_both)


@pytest.mark.parametrize("keep", CASES[:3])
@pytest.mark.parametrize("items", [63, 64, 65, 3000])
def test_both_stages_at_once_are_the_steps_one_by_one_and_plain_numpy(
    keep: Any, items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers that round: to the bit, for histories of none, one, many and repeated items."""
    rng, users = np.random.default_rng(items), 6
    codes = Codes(make_codes(rng, users, 64, "spread"), make_codes(rng, items, 64, "clusters"), 64)
    of_users, of_items = (rng.standard_normal((n, 21)) for n in (users, items))
    bias = rng.standard_normal(items).astype(np.float32)
    vectors = RankingVectors.of(of_users, of_items, keep, bias)
    similarity = rng.standard_normal((items, items)) * (rng.random((items, items)) < 0.05)
    similarity[::3] = 0  # items without weights
    every = np.arange(items)
    lists: list[Any] = [every[:0], every[:1], every[-1:], [3, 1, 3, 3], every[::3]]
    lists.append(rng.choice(every, 2000))
    own, indptr = np.concatenate(lists), np.cumsum([0, *map(len, lists)])
    history = csr_array((np.ones(len(own), np.float32), own, indptr), shape=(users, items))
    weights = Neighbours.of(csr_array(similarity.astype(np.float32)), history, keep)
    learned = TwoStage(codes, vectors, weights, Sources(7, 9, 3, 4), 0.3)
    rank = rng.permutation(items).astype(np.int32)
    index, queries = index_of(learned, rank), learned.queries(np.arange(users))
    assert isinstance(index, TwoStageIndex)
    seen = as_lists([np.unique(one).tolist()[: items // 2] for one in lists])
    at_once = index.search(queries, 12, exclude=seen)
    monkeypatch.setattr(index, "_search_both", lambda *known: None)
    steps = index.search(queries, 12, exclude=seen)
    monkeypatch.setattr("xorec.core.kernels.is_loaded", lambda kernel: False)
    for b in range(users):
        hidden = (np.array([0, seen[0][b + 1] - seen[0][b]]), seen[1][seen[0][b] : seen[0][b + 1]])
        plain = index.search(queries[b], 12, exclude=hidden)
        for hits, row in ((at_once, b), (steps, b), (plain, 0)):
            assert hits.row(row)[0].tolist() == at_once.row(b)[0].tolist()
            assert hits.row(row)[1].tobytes() == at_once.row(b)[1].tobytes()


@pytest.mark.parametrize("k", [1, 3, 9])
def test_the_short_way_of_one_query_is_that_of_a_batch(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than there are items takes the long way."""
    rng = np.random.default_rng(k)
    learned, rank = blended(rng, 300, Sources(4, 5, 3, 4)), rng.permutation(300).astype(np.int32)
    index, queries = index_of(learned, rank), learned.queries(np.arange(5))
    assert isinstance(index, TwoStageIndex)
    seen = [np.flatnonzero(rng.random(300) < 0.3).tolist() for _ in range(5)]
    together, without = index.search(queries, k, exclude=as_lists(seen)), index.search(queries, k)
    monkeypatch.setattr(index, "_first_queries", 0)
    assert index.search(learned.queries(np.array([0])), 2000).counts.tolist() == [300]
    monkeypatch.setattr(index, "_near", lambda *known: pytest.fail("the long way"))
    for b in range(5):
        one = learned.queries(np.array([b]))
        for hits, whole in (
            (index.search(one, k, exclude=as_lists([seen[b]])), together),
            (index.search(one, k), without),
        ):
            assert hits.row(0)[0].tolist() == whole.row(b)[0].tolist()
            assert hits.row(0)[1].tobytes() == whole.row(b)[1].tobytes()
        for wrong in ([300], [-1]):
            with pytest.raises(DataError, match="exclude has the row"):
                index.search(one, k, exclude=as_lists([wrong]))
