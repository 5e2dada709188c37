"""Filters against plain loops, and what they report."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.same_data import pair_set
from xorec.core.errors import DataError, OptionError
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare

Pairs = set[tuple[int, int]]


def naive_filter(pairs: Pairs, users_at_least: int, items_at_least: int) -> Pairs:
    users, items = Counter(u for u, _ in pairs), Counter(i for _, i in pairs)
    return {(u, i) for u, i in pairs if users[u] >= users_at_least and items[i] >= items_at_least}


def naive_core(pairs: Pairs, core: int) -> Pairs:
    while (fewer := naive_filter(pairs, core, core)) != pairs:
        pairs = fewer
    return pairs


some_pairs = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=70)


@settings(deadline=None)
@given(some_pairs, st.integers(0, 5))
def test_core_equals_the_loop(pairs: Pairs, core: int) -> None:
    wanted = naive_core(pairs, core)
    data = Interactions.from_pairs(pairs)
    if not wanted:
        with pytest.raises(DataError, match=f"nothing is left after {core}-core"):
            prepare(data, core=core)
        return
    prepared = prepare(data, core=core)
    assert pair_set(prepared) == wanted
    assert prepared.n_users == len({u for u, _ in wanted})
    assert prepared.n_items == len({i for _, i in wanted})


@settings(deadline=None)
@given(some_pairs, st.integers(0, 5), st.integers(0, 5))
def test_the_papers_filter_counts_once(pairs: Pairs, users: int, items: int) -> None:
    wanted = naive_filter(pairs, users, items)
    data = Interactions.from_pairs(pairs)
    if wanted:
        prepared = prepare(data, min_user_pairs=users, min_item_pairs=items)
        assert pair_set(prepared) == wanted
    else:
        with pytest.raises(DataError, match="nothing is left after users under"):
            prepare(data, min_user_pairs=users, min_item_pairs=items)


# user 1 has 3 items, users 2 and 3 have 2, user 4 has 1 that makes item 30 look popular
CHAIN = [(1, 10), (1, 20), (1, 30), (2, 10), (2, 20), (3, 10), (3, 20), (4, 30)]


def test_once_and_repeated_differ_and_say_what_they_removed() -> None:
    data = Interactions.from_pairs(CHAIN)
    once = prepare(data, min_user_pairs=2, min_item_pairs=2)
    assert pair_set(once) == {pair for pair in CHAIN if pair[0] != 4}
    assert once.notes == (
        "users under 2 and items under 2 pairs, once: 1 users, 0 items and 1 pairs removed",
    )
    core = prepare(data, core=2)
    assert pair_set(core) == {(u, i) for u, i in CHAIN if i != 30}
    assert core.notes == ("2-core (2 rounds): 1 users, 1 items and 2 pairs removed",)


def rated() -> Interactions:
    ids = Ids.of([1, 2])
    rows = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    ratings = np.array([1, 3.5, 4, 5], dtype=np.float32)
    return Interactions.from_rows(ids, ids, *rows, ratings=ratings, times=np.array([4, 3, 2, 1]))


def test_ratings_to_implicit_keeps_the_other_columns_in_step() -> None:
    prepared: Any = prepare(rated(), min_rating=3.5)
    assert pair_set(prepared) == {(1, 2), (2, 1), (2, 2)}
    assert prepared.times.tolist() == [3, 2, 1]
    assert prepared.notes == ("ratings below 3.5: 0 users, 0 items and 1 pairs removed",)
    assert prepare(rated(), min_rating=4).n_users == 1


def test_ratings_are_filtered_before_counting() -> None:
    prepared = prepare(rated(), min_rating=3.5, min_user_pairs=2)
    assert pair_set(prepared) == {(2, 1), (2, 2)}


def test_nothing_asked_nothing_changed() -> None:
    data = Interactions.from_pairs(CHAIN)
    assert prepare(data) is data
    assert prepare(data, core=1) is data


def test_what_cannot_be_done_is_said() -> None:
    data = Interactions.from_pairs(CHAIN)
    with pytest.raises(DataError, match="no ratings: name their column with rating_column"):
        prepare(data, min_rating=4)
    with pytest.raises(DataError, match="ratings go from 1 to 5; lower min_rating"):
        prepare(rated(), min_rating=6)
    with pytest.raises(DataError, match="busiest has 3 pairs, of 3 items the most popular 3"):
        prepare(data, core=9)
    with pytest.raises(OptionError, match="core is -1"):
        prepare(data, core=-1)
    with pytest.raises(OptionError, match="min_rating is nan"):
        prepare(rated(), min_rating=float("nan"))
