from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.core.bits import unpack_signs
from xorec.representations.codes import Codes
from xorec.representations.shortlist import Shortlist
from xorec.representations.vectors import Vectors
from xorec.search.hits import Hits
from xorec.search.index import SavedIndex, index_of
from xorec.search.top_k import top_k
from xorec.testing.indexes import as_lists, best, hamming, make_codes

KEEPS = ("float32", "float16", "int8", "asymmetric")


def make(rng: np.random.Generator, items: int, size: int, keep: Any, users: int = 4) -> Shortlist:
    """Small whole numbers, so that sums are exact in any order and ties abound."""
    bits = int(rng.choice([8, 20, 64, 100]))
    codes = Codes(
        make_codes(rng, users, bits, "spread"), make_codes(rng, items, bits, "duplicates"), bits
    )
    if keep == "asymmetric":
        return Shortlist.of(codes, rng.integers(-3, 4, (users, bits)), None, size)
    user_vectors, item_vectors = (rng.integers(-3, 4, (n, 6)) for n in (users, items))
    if keep == "int8":  # its scale is 1
        user_vectors[:, 0] = item_vectors[:, 0] = 127
    return Shortlist.of(codes, user_vectors, item_vectors, size, keep)


def exact_scores(shortlist: Shortlist, user: int) -> Any:
    """Every item's score in plain NumPy."""
    if shortlist.items is None:
        signs = unpack_signs(shortlist.codes.item_codes, shortlist.codes.bits)
        return signs @ shortlist.users.floats()[user]
    return shortlist.items.floats() @ shortlist.users.floats()[user]


def check(hits: Hits, shortlist: Shortlist, tie_rank: Any, k: int, hidden: list[set[int]]) -> None:
    for user, own in enumerate(hidden):
        codes = shortlist.codes
        size = max(k, shortlist.size)
        distances = hamming(codes.item_codes, codes.user_codes[user])
        near, _ = best(distances, tie_rank, size, own)
        scores = exact_scores(shortlist, user)
        first = sorted(near, key=lambda row: (-scores[row], tie_rank[row]))[:k]
        items, values = hits.row(user)
        assert items.tolist() == first
        np.testing.assert_array_equal(values, scores[first].astype(np.float32))


@pytest.mark.parametrize("keep", KEEPS)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_equals_the_oracle(keep: str, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
    items = data.draw(st.sampled_from([1, 7, 65, 400]), label="items")
    size = data.draw(st.sampled_from([1, 5, 40, 1000]), label="size")
    k = data.draw(st.sampled_from([1, 3, 10, 60, 500]), label="k")
    shortlist, tie_rank = make(rng, items, size, keep), rng.permutation(items).astype(np.int32)
    share = data.draw(st.sampled_from([0.0, 0.1, 0.9, 1.0]), label="seen")
    seen = [np.flatnonzero(rng.random(items) < share).tolist() for _ in range(4)]
    deny = np.flatnonzero(rng.random(items) < 0.1)
    allowed = rng.random(items) < data.draw(st.sampled_from([0.02, 0.5, 1.0]), label="allowed")
    index, queries = index_of(shortlist, tie_rank), shortlist.queries(np.arange(4))
    hidden = [{*own, *deny.tolist()} for own in seen]
    hits = index.search(queries, k, exclude=as_lists(seen), deny=deny)
    check(hits, shortlist, tie_rank, k, hidden)
    others = set(np.flatnonzero(~allowed).tolist())
    for choice in (allowed, np.flatnonzero(allowed), index.item_filter(allowed)):
        hits = index.search(queries, k, exclude=as_lists(seen), deny=deny, allow=choice)
        check(hits, shortlist, tie_rank, k, [own | others for own in hidden])


@pytest.mark.parametrize("keep", KEEPS)
def test_one_by_one_in_batches_and_on_threads(keep: Any) -> None:
    rng = np.random.default_rng(0)
    codes = Codes(make_codes(rng, 90, 64, "spread"), make_codes(rng, 3000, 64, "clusters"), 64)
    users, items = (rng.standard_normal((n, 64)) for n in (90, 3000))
    shortlist = Shortlist.of(codes, users, items, 100, keep if keep in KEEPS[:3] else "float32")
    if keep == "asymmetric":
        shortlist = Shortlist.of(codes, users, None, 100)
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
        np.testing.assert_array_equal(
            shortlist.score(queries[b])[0][whole.items[b]], alone.scores[0]
        )


@pytest.mark.parametrize("keep", KEEPS)
def test_a_shortlist_of_everything_ranks_as_the_vectors_do(keep: Any) -> None:
    rng = np.random.default_rng(3)
    shortlist, rank = make(rng, 500, 500, keep), rng.permutation(500).astype(np.int32)
    plain: Vectors | Codes | None = shortlist.vectors
    if plain is None:
        codes = shortlist.codes
        plain = Codes(codes.user_codes, codes.item_codes, codes.bits, shortlist.users.floats())
    rows = np.arange(4)
    expected = top_k(plain.scores(rows), 50, rank)
    hits = index_of(shortlist, rank).search(shortlist.queries(rows), 50)
    np.testing.assert_array_equal(hits.items, expected.items)
    np.testing.assert_array_equal(hits.scores, expected.scores)


def test_an_index_from_its_tensors_is_the_same() -> None:
    rng = np.random.default_rng(4)
    shortlist, rank = make(rng, 400, 30, "float16"), rng.permutation(400).astype(np.int32)
    made, queries = index_of(shortlist, rank), shortlist.queries(np.arange(4))
    kept = index_of(shortlist, rank, SavedIndex(made.tensors()))
    np.testing.assert_array_equal(kept.search(queries, 9).items, made.search(queries, 9).items)
    assert "30 nearest codes" in made.explain()
    assert made.nbytes > shortlist.items.nbytes  # type: ignore[union-attr]
