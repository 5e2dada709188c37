"""Shards of an index answer as one index, for any cut."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from xorec.core.errors import OptionError
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.representations.shared_scores import SharedScores
from xorec.representations.vectors import Distances, Vectors
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Hits
from xorec.search.index import Index, index_of
from xorec.search.scores.index import ScoreIndex
from xorec.search.sharded import Shard, ShardedIndex
from xorec.testing.indexes import (
    Costs,
    IndexTests,
    Ranks,
    Words,
    as_lists,
    hamming,
    make_codes,
    mixed_up,
    same,
)
from xorec.testing.store_models import two_stage


def shards(codes: Words, bits: int, tie_rank: Ranks, cuts: list[int], **how: Any) -> ShardedIndex:
    def make(start: int, stop: int, own: TieRank) -> Index:
        return HammingIndex(codes[start:stop], bits, own, threads=1, **how)

    return ShardedIndex(make, tie_rank, cuts)


class TestThreeShards(IndexTests):
    cuts: tuple[float, ...] = (0.3, 0.31)

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> Index:
        return shards(items, bits, tie_rank, [int(len(items) * cut) for cut in self.cuts])

    def costs(self, items: Words, query: Words, bits: int) -> Costs:
        return hamming(items, query)


class TestOneShard(TestThreeShards):
    cuts = ()


class Whole(NamedTuple):
    """What one index is of, and one that knows all of it."""

    learned: Representation
    queries: Any
    tie_rank: TieRank


def codes_with_ties(rng: np.random.Generator, n: int, kind: str) -> Whole:
    tie_rank = rng.permutation(n).astype(np.int32)
    items = make_codes(rng, n, 20, str(rng.choice(["duplicates", "equal", "spread"])))
    users = make_codes(rng, 5, 20, "spread")
    if kind == "masked":
        learned: Representation = MaskedCodes(users, items, 20)
    elif kind == "float users":
        numbers = (rng.integers(-2, 3, size=(5, 20)) / 8).astype(np.float32)
        learned = Codes(users, items, 20, numbers)
    elif kind == "composed":
        eta, xi = (rng.integers(0, 3, size=(rows, 4)).astype(np.float32) for rows in (5, n))
        learned = ComposedCodes(users, items, eta, xi, 20)
    else:
        offsets = rng.integers(0, 9, size=n) if kind == "offsets" else None
        learned = Codes(users, items, 20, None, offsets)
    return Whole(learned, learned.queries(np.arange(5)), tie_rank)


def other_items(rng: np.random.Generator, n: int, kind: str) -> Whole:
    tie_rank = rng.permutation(n).astype(np.int32)
    if kind == "codebooks":
        books = rng.standard_normal((3, 4, 6)).astype(np.float32)
        users = rng.standard_normal((5, 6)).astype(np.float32)
        words = rng.integers(0, 4, size=(n, 3)).astype(np.uint8)
        learned: Representation = Codebooks(users, words, books)
    elif kind == "shared":
        learned = SharedScores(rng.integers(0, 4, size=n).astype(np.float32), 5)
    elif kind.startswith("dense"):
        some = np.flatnonzero(rng.random(n) < 0.8).astype(np.int32)
        weights = (rng.integers(-3, 4, size=(len(some), len(some))) / 7).astype(np.float32)
        has = np.where(rng.random((5, n)) < 0.3, rng.uniform(0.3, 3.0, size=(5, n)), 0)
        history = csr_array((has if "weighted" in kind else has > 0).astype(np.float32))
        learned = ItemWeights(weights, some, history)
    else:
        says = np.where(rng.random((n, n)) < 0.2, rng.integers(-3, 4, size=(n, n)), 0) / 7
        has = np.where(rng.random((5, n)) < 0.3, rng.uniform(0.3, 3.0, size=(5, n)), 0)
        history = csr_array((has if kind == "float16" else has > 0).astype(np.float32))
        learned = Neighbours.of(csr_array(says.astype(np.float32)), history, kind)  # type: ignore[arg-type]
    return Whole(learned, learned.queries(np.arange(5)), tie_rank)


MAKE = {
    **dict.fromkeys(("plain", "offsets", "masked", "float users", "composed"), codes_with_ties),
    **dict.fromkeys(("codebooks", "shared", "float32", "float16", "int8"), other_items),
    **dict.fromkeys(("dense", "dense, weighted"), other_items),
}


@pytest.mark.parametrize("kind", MAKE)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.differing_executors])
@given(data=st.data())
def test_any_cut_gives_the_same(kind: str, data: st.DataObject) -> None:
    """Any data, any cut, any filter: the hits of one index, to the bit."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.one_of(st.integers(1, 12), st.integers(1, 200)))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=12)))
    learned, queries, tie_rank = MAKE[kind](rng, n, kind)
    k = data.draw(st.integers(1, 250))
    seen = data.draw(st.sampled_from([None, 0.0, 0.3, 1.0]))
    filters: dict[str, Any] = {}
    if seen is not None:
        filters["exclude"] = as_lists(
            [np.flatnonzero(rng.random(n) < seen).tolist() for _ in range(5)]
        )
    if data.draw(st.booleans()):
        filters["deny"] = mixed_up(rng, np.flatnonzero(rng.random(n) < 0.2))
    allowed = rng.random(n) < data.draw(st.sampled_from([0.0, 0.1, 0.7]))
    whole = index_of(learned, tie_rank, threads=1)
    parts = ShardedIndex.of(learned, tie_rank, cuts, threads=1)
    allow = data.draw(st.sampled_from(["no", "mask", "rows", "ready"]))
    choices: list[Any] = [None, None]
    if allow == "mask":
        choices = [allowed, allowed]
    elif allow == "rows":
        choices = [mixed_up(rng, np.flatnonzero(allowed))] * 2
    elif allow == "ready":
        choices = [index.item_filter(allowed) for index in (whole, parts)]
    expected = whole.search(queries, k, allow=choices[0], **filters)
    found = parts.search(queries, k, allow=choices[1], **filters)
    assert found.items.shape == (5, min(k, n))
    same_hits(found, expected)
    exclude = filters.pop("exclude", None)
    for b in range(2):  # one at a time, by the short ways
        one = np.array([b])
        if exclude is not None:
            filters["exclude"] = as_lists([exclude[1][slice(*exclude[0][b : b + 2])].tolist()])
        query = learned.queries(one)
        expected = whole.search(query, k, allow=choices[0], **filters)
        same_hits(parts.search(query, k, allow=choices[1], **filters), expected)


def same_hits(found: Hits, expected: Hits) -> None:
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert (found.distances is None) == (expected.distances is None)
    for b, count in enumerate(expected.counts):
        for name in ("items", "scores", "distances"):
            values = getattr(expected, name)
            if values is not None:
                np.testing.assert_array_equal(getattr(found, name)[b, :count], values[b, :count])


def test_a_list_of_items_for_each_query() -> None:
    rng = np.random.default_rng(5)
    learned, queries, tie_rank = codes_with_ties(rng, 90, "plain")
    allow = as_lists([np.flatnonzero(rng.random(90) < 0.2).tolist() for _ in range(5)])
    whole = index_of(learned, tie_rank, threads=1).search(queries, 12, allow=allow)
    same_hits(ShardedIndex.of(learned, tie_rank, [3, 40]).search(queries, 12, allow=allow), whole)


def test_a_shard_answers_in_rows_of_all_and_keeps_its_own_items_alone() -> None:
    rng = np.random.default_rng(2)
    learned, queries, tie_rank = codes_with_ties(rng, 4000, "plain")
    shard, whole = (
        Shard.of(learned, tie_rank, rows, threads=1) for rows in ((1000, 2000), (0, 4000))
    )
    found = shard.search(queries, 10, exclude=as_lists([[1000], [], [3], [1999], []]))
    rows = np.arange(1000, 2000)
    expected = whole.search(
        queries, 10, allow=rows, exclude=as_lists([[1000], [], [3], [1999], []])
    )
    same_hits(found, expected)
    assert shard.nbytes < 0.3 * whole.nbytes


@pytest.mark.parametrize(
    ("learned", "why"),
    [
        (Vectors(np.eye(4, 3, dtype=np.float32), np.eye(9, 3, dtype=np.float32)), "BLAS"),
        (Distances(np.eye(4, 3, dtype=np.float32), np.eye(9, 3, dtype=np.float32)), "BLAS"),
        (two_stage(), "first stage"),
    ],
)
def test_what_would_not_be_the_same_is_refused(learned: Representation, why: str) -> None:
    tie_rank = np.arange(learned.n_items, dtype=np.int32)
    with pytest.raises(OptionError, match=f"is not searched in shards: .*{why}"):
        ShardedIndex.of(learned, tie_rank, [3])


def test_scores_are_merged_as_well_as_distances() -> None:
    rng = np.random.default_rng(1)
    users, items = (rng.integers(-2, 3, size=(n, 4)).astype(np.float32) for n in (6, 90))
    tie_rank = rng.permutation(90).astype(np.int32)
    vectors = Vectors(users, items)
    queries = vectors.queries(np.arange(6))

    def make(start: int, stop: int, own: TieRank) -> Index:
        return ScoreIndex.of(Vectors(users, items[start:stop]), own)

    whole = ScoreIndex.of(vectors, tie_rank).search(queries, 40)
    same(ShardedIndex(make, tie_rank, [1, 50]).search(queries, 40), whole)


def test_cuts_that_do_not_ascend_are_refused() -> None:
    codes = make_codes(np.random.default_rng(0), 9, 20, "spread")
    for cuts in ([5, 3], [10], [-1]):
        with pytest.raises(OptionError, match="cuts"):
            shards(codes, 20, np.arange(9, dtype=np.int32), cuts)
