"""The one data type: rows, selections and digests against sets of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.same_data import pairs_of
from xorec.core.errors import DataError
from xorec.core.threads import ThreadPool
from xorec.data import merge
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import TEST, TRAIN, Interactions
from xorec.data.io.read import read
from xorec.data.merge import merge_pairs
from xorec.data.text import Text

pair_lists = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=50)


@settings(deadline=None)
@given(pair_lists)
def test_pairs_come_back_sorted_and_once(pairs: list[tuple[int, int]]) -> None:
    data = Interactions.from_pairs(pairs)
    assert pairs_of(data) == sorted(set(pairs))
    assert data.indices.dtype == np.int32
    assert data.user_counts.sum() == data.item_counts.sum() == len(set(pairs))
    indptr, users = data.by_item
    turned = [
        (item, int(u))
        for item in range(data.n_items)
        for u in users[indptr[item] : indptr[item + 1]]
    ]
    assert turned == sorted(zip(data.indices.tolist(), data.user_rows.tolist(), strict=True))
    assert data.matrix().sum() == len(set(pairs))


rows_with_values = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)),
    max_size=60,
)


@settings(max_examples=60)  # fewer miss repeats that differ in their part or time alone
@given(rows_with_values, st.booleans(), st.booleans())
def test_merge_chooses_by_part_then_time_then_place(
    rows: list[tuple[int, int, int, int]], with_times: bool, with_parts: bool
) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    times, parts = table[:, 2].copy(), table[:, 3].astype(np.int8)
    more = (times if with_times else None, parts if with_parts else None)
    merged = merge_pairs(table[:, 0], table[:, 1], (5, 5), *more)
    wanted: dict[tuple[int, int], int] = {}
    seen_parts: dict[tuple[int, int], set[int]] = {}

    def rank(place: int) -> tuple[int, int, int]:
        part, time = rows[place][3] * with_parts, rows[place][2] * with_times
        return -part, time, place

    for place, (user, item, _, part) in enumerate(rows):
        seen_parts.setdefault((user, item), set()).add(part)
        best = wanted.get((user, item))
        if best is None or rank(place) > rank(best):
            wanted[user, item] = place
    assert merged.order.tolist() == [wanted[pair] for pair in sorted(wanted)]
    assert merged.indices.tolist() == [item for _, item in sorted(wanted)]
    assert merged.repeats == len(rows) - len(wanted)
    several = sum(len(found) > 1 for found in seen_parts.values())
    assert merged.moved == (several if with_parts else 0)
    counts = np.bincount([user for user, _ in wanted], minlength=5) if wanted else np.zeros(5)
    assert np.diff(merged.indptr).tolist() == counts.tolist()


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_merge_is_the_same_for_any_number_of_threads(threads: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50, 5_000), rng.integers(0, 70, 5_000)
    times, parts = rng.integers(0, 9, 5_000), rng.integers(0, 3, 5_000).astype(np.int8)
    one, many = (merge_pairs(*rows, (50, 70), times, parts, threads=n) for n in (1, threads))
    for found, expected in zip(many, one, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_merge_takes_the_threads_it_is_given_and_asks_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []

    class Spy(ThreadPool):
        def __init__(self, threads: int) -> None:
            given.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(merge, "ThreadPool", Spy)
    data = Interactions.from_pairs([(1, 1), (1, 2), (2, 1)])
    data.union(data, 3)
    read([(1, 1), (1, 2), (2, 1)], threads=2)
    assert given == [1, 3, 2]


@pytest.mark.parametrize(("user", "item"), [(3, 0), (-1, 0), (0, 3), (0, -1)])
def test_rows_that_do_not_exist_are_refused(user: int, item: int) -> None:
    ids = Ids.of(range(3))
    with pytest.raises(DataError, match=r"there is no (user|item) row (3|-1): rows go from 0 to 2"):
        Interactions.from_rows(ids, ids, np.array([0, user]), np.array([0, item]))


def small() -> Interactions:
    categories = Categories(
        Text.pack(["x", "y"]), np.array([0, 2, 2, 3]), np.array([0, 1, 1], dtype=np.int32)
    )
    return Interactions.from_rows(
        Ids.of(["a", "b", "c"]),
        Ids.of([10, 20, 30]),
        np.array([2, 0, 2, 0]),
        np.array([0, 2, 2, 2]),
        times=np.array([1, 2, 3, 4]),
        ratings=np.array([1, 2, 3, 4], dtype=np.float32),
        parts=np.array([TRAIN, TRAIN, TEST, TEST], dtype=np.int8),
        names=Text.pack(["ten", "twenty", "thirty"]),
        categories=categories,
    )


def test_the_last_of_equal_rows_stays_with_its_values() -> None:
    data: Any = small()
    assert pairs_of(data) == [("a", 30), ("c", 10), ("c", 30)]
    assert data.times.tolist() == [4, 1, 3]


def test_select_keeps_rows_and_values_in_step() -> None:
    data: Any = small().select(np.array([False, True, True]))
    assert (data.n_users, data.n_items) == (3, 3)
    assert pairs_of(data) == [("c", 10), ("c", 30)]
    assert data.ratings.tolist() == [1, 3]


def test_a_frame_has_the_raw_ids_and_what_stands_beside_them() -> None:
    rows = [("bob", 7, 3.0, 50), ("ann", 9, 5.0, 40), ("ann", 7, 4.0, 60)]
    data = read(rows)
    frame = data.to_frame()
    assert frame.columns == ["user", "item", "rating", "time"]
    assert sorted(frame.rows()) == sorted(rows)
    assert read(frame).digest() == data.digest()
    weights = np.array([0.5, 1, 1.5], dtype=np.float32)
    weighed = Interactions.from_rows(
        data.users, data.items, data.user_rows, data.indices, weights=weights
    )
    assert weighed.to_frame()["weight"].to_list() == [0.5, 1, 1.5]
    assert read(weighed.to_frame(), weight_scale="none").digest() == weighed.digest()


def test_compact_takes_names_and_categories_along() -> None:
    data: Any = small().compact()
    assert list(data.users) == ["a", "c"]
    assert list(data.items) == [10, 30]
    assert pairs_of(data) == [("a", 30), ("c", 10), ("c", 30)]
    assert list(data.names) == ["ten", "thirty"]
    assert [data.categories.of(item) for item in range(2)] == [["x", "y"], ["y"]]
    assert data.compact() is data


def test_digest_tells_data_apart() -> None:
    pairs = [(1, 1), (1, 2), (2, 1)]
    digest = Interactions.from_pairs(pairs).digest()
    assert Interactions.from_pairs(pairs[::-1]).digest() == digest
    others = ([(1, 1), (1, 2), (2, 2)], [("1", 1), ("1", 2), ("2", 1)], pairs[:2])
    assert all(Interactions.from_pairs(other).digest() != digest for other in others)


def test_what_people_see() -> None:
    data = small().noted("a <b> & c")
    assert repr(data) == (
        "Interactions(3 users x 3 items, 3 pairs, times, ratings, parts, names, categories)"
    )
    table = data._repr_html_()
    assert "<tr><th>density</th><td>33.3333%</td></tr>" in table
    assert "<td>user, item, times, ratings, parts, names, categories</td>" in table
    assert "<tr><th>note</th><td>a &lt;b&gt; &amp; c</td></tr>" in table


def test_an_empty_set_of_pairs_is_said_to_be_empty() -> None:
    data = Interactions.from_pairs([])
    assert repr(data) == "Interactions(0 users x 0 items, 0 pairs)"
    with pytest.raises(DataError, match="the test part has no interactions"):
        data.require_pairs("the test part")
