"""Postings in few bytes, and scores that are the same to the bit in every way."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from scipy.sparse import csr_array

from xorec.core.errors import DataError
from xorec.core.schema import check_tensors
from xorec.core.threads import ThreadPool
from xorec.representations.base import StoredAs
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours, Postings
from xorec.representations.neighbours_kernels import number_at

ITEMS = 200


def make(keep: StoredAs, *, weighted: bool = False, seed: int = 0) -> Neighbours:
    rng = np.random.default_rng(seed)
    every = rng.standard_normal((ITEMS, ITEMS)) * (rng.random((ITEMS, ITEMS)) < 0.2)
    every *= 10.0 ** rng.integers(-3, 2, (ITEMS, 1))
    every[7] = 0
    has = (rng.random((30, ITEMS)) < 0.1).astype(np.float32)
    has[0] = 0
    if weighted:
        has *= rng.random(has.shape).astype(np.float32) * 3
    return Neighbours.of(csr_array(every.astype(np.float32)), csr_array(has), keep)


@pytest.mark.parametrize("keep", get_args(StoredAs))
@pytest.mark.parametrize("weighted", [False, True])
def test_all_ways_to_a_score_give_the_same_bits(keep: StoredAs, weighted: bool) -> None:
    found = make(keep, weighted=weighted)
    queries = found.queries(np.arange(30))
    expected = np.zeros((30, ITEMS), dtype=np.float32)
    for b in range(30):
        history = queries[b]
        for place, i in enumerate(history.indices):
            items, weights = found.postings.row(int(i), history.value(place))
            for j, weight in zip(items, weights, strict=True):
                expected[b, j] += weight
    assert found.score(queries).tobytes() == expected.tobytes()
    assert found.score(found.history).tobytes() == expected.tobytes()
    alone = np.stack([found.score_one(queries[b]) for b in range(30)])
    assert alone.tobytes() == expected.tobytes()
    rng = np.random.default_rng(1)
    candidates, counts = rng.integers(0, ITEMS, (30, 50)), rng.integers(0, 51, 30)
    behind = np.arange(50) >= counts[:, None]
    asked = np.where(behind, 10**6, candidates)  # what stands behind the candidates is not read
    for threads in (1, 3):
        with ThreadPool(threads) as pool:
            scores = found.rescore(queries, asked, counts, pool)
        some = np.take_along_axis(expected, candidates, axis=1)
        np.testing.assert_array_equal(scores, np.where(behind, np.float32(0), some))


def test_what_few_bytes_lose() -> None:
    exact = make("float32").similarity.toarray()
    half, byte = (make(keep).similarity.toarray() for keep in ("float16", "int8"))
    assert (np.abs(half - exact) <= 2.0**-11 * np.abs(exact) + 2.0**-24).all()
    largest = np.abs(exact).max(axis=1, keepdims=True)
    assert (np.abs(byte - exact) <= largest / 254 * 1.001).all()
    assert np.abs(byte - exact).max() > 0
    sizes = [make(keep).postings for keep in ("float32", "float16", "int8")]
    assert [one.weights.itemsize for one in sizes] == [4, 2, 1]


def test_numbers_of_two_bytes() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(np.float16)
    finite = np.flatnonzero(np.isfinite(halves))
    found = np.array([number_at(bits, at) for at in finite[::7]])
    np.testing.assert_array_equal(found, halves[finite[::7]].astype(np.float32))


def test_weights_too_large_for_float16_are_refused() -> None:
    large = csr_array(np.array([[0, 1e6], [0, 0]], dtype=np.float32))
    with pytest.raises(DataError, match="too large for float16"):
        Postings.of(large, "float16")


@pytest.mark.parametrize(("items", "dtype"), [(1 << 16, np.uint16), ((1 << 16) + 1, np.int32)])
def test_items_take_two_bytes_where_they_fit(items: int, dtype: Any) -> None:
    last = csr_array(([np.float32(2)], ([0], [items - 1])), shape=(items, items))
    postings = Postings.of(last.astype(np.float32))
    assert postings.items.dtype == dtype
    assert postings.items.tolist() == [items - 1]


@pytest.mark.parametrize("keep", get_args(StoredAs))
def test_tensors_of_older_files_have_items_of_four_bytes(keep: StoredAs) -> None:
    before, users = make(keep), np.arange(30)
    old = before.tensors() | {"neighbour_items": before.postings.items.astype(np.int32)}
    check_tensors(old, Neighbours.schema, {"users": 30, "items": ITEMS})
    after = Neighbours.from_tensors(old)
    assert after.scores(users).tobytes() == before.scores(users).tobytes()


def test_bytes_without_scales_and_scales_without_bytes_are_refused() -> None:
    byte, plain = make("int8").tensors(), make("float32").tensors()
    without = {name: one for name, one in byte.items() if name != "neighbour_scales"}
    for one in (without, {**plain, "neighbour_scales": byte["neighbour_scales"]}):
        with pytest.raises(DataError, match="scales"):
            Neighbours.from_tensors(one)


def test_queries_beyond_the_items_are_refused() -> None:
    found = make("float32")
    with pytest.raises(DataError, match="a query has 7 items but there are 200"):
        found.score(csr_array(np.ones((1, 7), dtype=np.float32)))
    rows = csr_array(np.ones((1, ITEMS), dtype=np.float32))
    rows.indices[3] = ITEMS + 5
    with pytest.raises(DataError, match="indices has the value 205"):
        found.score(rows)
    with pytest.raises(DataError, match="a query is a row of items"):
        found.score(np.ones((1, ITEMS)))


def test_rows_of_histories() -> None:
    rows = (np.random.default_rng(0).random((6, 9)) < 0.5) * np.float32(2)
    found = Histories.of(csr_array(rows.astype(np.float32)))
    some = [np.array(one) for one in ([5, 0, 5], [-1, 0], [-2], [False, True] * 3)]
    slices: list[Any] = [slice(None), slice(2, 4), slice(4, 2), slice(0, 6, 2), [1]]
    for chosen in (*slices, *some):
        np.testing.assert_array_equal(found[chosen].toarray(), rows[chosen])
    np.testing.assert_array_equal(found[-1].toarray(), rows[-1:])
    for outside in (6, -7):
        with pytest.raises(IndexError):
            found[outside]
