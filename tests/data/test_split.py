"""What every split must keep, whatever the data; and what each method promises."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.same_data import pair_set
from xorec.core.errors import DataError, OptionError
from xorec.data.ids import Ids
from xorec.data.interactions import TEST, TRAIN, VALIDATION, Interactions
from xorec.data.split import Method, Split, folds, hold_out, split
from xorec.testing.data import planted

ORDERED: tuple[Method, ...] = ("random", "per-user", "leave-last", "time")


def timed(pairs: dict[tuple[int, int], int], parts: list[int] | None = None) -> Interactions:
    users, items = Ids.sorted(u for u, _ in pairs), Ids.sorted(i for _, i in pairs)
    return Interactions.from_rows(
        users,
        items,
        users.find_many(u for u, _ in pairs),
        items.find_many(i for _, i in pairs),
        times=np.array(list(pairs.values()), dtype=np.int64),
        parts=None if parts is None else np.array(parts, dtype=np.int8),
    )


def big(seed: int = 0, n: int = 20_000) -> Interactions:
    rng = np.random.default_rng(seed)
    users = (300 * rng.random(n) ** 2).astype(int).tolist()
    items = (500 * rng.random(n) ** 2).astype(int).tolist()
    times = rng.integers(0, 10**9, n).tolist()
    return timed(dict(zip(zip(users, items, strict=True), times, strict=True)))


def parts_of(result: Split) -> list[Interactions]:
    return [part for part in (result.train, result.validation, result.test) if part is not None]


some_data = st.dictionaries(
    st.tuples(st.integers(0, 8), st.integers(0, 8)), st.integers(0, 5), min_size=1, max_size=60
)


@settings(deadline=None)
@given(
    some_data,
    st.sampled_from(ORDERED),
    st.floats(0.05, 0.9),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_what_every_split_keeps(
    pairs: dict[tuple[int, int], int],
    method: Method,
    test: float,
    validation: float,
    seed: int,
    keep_last: bool,
    random: Any,
) -> None:
    """Parts are disjoint and together the data; the order of rows and validation do not matter."""
    data = timed(pairs)
    asked: Any = {"method": method, "test": test, "seed": seed, "keep_last": keep_last}
    try:
        result = split(data, validation=validation, **asked)
    except DataError:  # too little data for a part: tested below
        return
    parts = parts_of(result)
    assert sum(part.n_pairs for part in parts) == data.n_pairs
    assert set().union(*map(pair_set, parts)) == set(pairs)
    assert all(part.users is data.users and part.items is data.items for part in parts)
    assert all(part.times is not None and len(part.times) == len(part) for part in parts)
    if keep_last:
        assert (result.train.user_counts > 0).all()
        assert (result.train.item_counts > 0).all()
    else:
        assert result.kept_back == 0
    rows = list(pairs.items())
    random.shuffle(rows)
    again = parts_of(split(timed(dict(rows)), validation=validation, **asked))
    assert [part.digest() for part in again] == [part.digest() for part in parts]
    without = split(data, **asked)
    assert without.validation is None
    assert without.test.digest() == result.test.digest()


def test_random_has_the_share_that_was_asked_for() -> None:
    data = big()
    result: Any = split(data, test=0.2, validation=0.1, keep_last=False)
    assert result.test.n_pairs == round(0.2 * data.n_pairs)
    assert result.validation.n_pairs == round(0.1 * (data.n_pairs - result.test.n_pairs))
    kept = split(data, test=0.8)
    assert kept.test.n_pairs + kept.kept_back == round(0.8 * data.n_pairs)
    assert kept.kept_back > 0


def test_random_is_fair_to_users_and_to_positions() -> None:
    data = big(n=60_000)
    result = split(data, test=0.5, keep_last=False)
    busy = data.user_counts > 50
    shares = result.test.user_counts[busy] / data.user_counts[busy]
    spread = np.sqrt(0.25 / data.user_counts[busy])
    assert np.abs((shares - 0.5) / spread).max() < 5
    assert abs(np.mean((shares - 0.5) / spread)) < 0.5


def test_another_seed_is_another_split() -> None:
    data = big()
    tests = [pair_set(split(data, seed=seed).test) for seed in range(3)]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert 0.1 < len(tests[one] & tests[other]) / len(tests[one]) < 0.3


def test_a_split_does_not_change_for_those_who_stay_when_others_leave() -> None:
    data = big()
    some = data.select(data.user_rows % 2 == 0).compact()
    whole, half = split(data, method="per-user"), split(some, method="per-user", keep_last=False)
    assert len(pair_set(half.test) - pair_set(whole.test)) <= whole.kept_back


def test_per_user_takes_the_rounded_share_of_each_user() -> None:
    data = big()
    result = split(data, method="per-user", test=0.25, keep_last=False)
    assert (result.test.user_counts == np.floor(0.25 * data.user_counts + 0.5)).all()


def test_leave_last_takes_the_last_and_then_the_one_before() -> None:
    pairs = {(1, 1): 5, (1, 2): 9, (1, 3): 7, (2, 1): 3, (2, 2): 1, (2, 3): 2, (3, 1): 1}
    result: Any = split(timed(pairs), method="leave-last", validation=0.5)
    # the only pair of user 3 stays, and so does the earlier one of item 3
    assert pair_set(result.test) == {(1, 2), (2, 1)}
    assert pair_set(result.validation) == {(1, 3)}
    assert result.kept_back == 2
    bare: Any = split(timed(pairs), method="leave-last", validation=0.5, keep_last=False)
    assert pair_set(bare.test) == {(1, 2), (2, 1), (3, 1)}
    assert pair_set(bare.validation) == {(1, 3), (2, 3)}


def test_among_equal_times_the_last_is_a_matter_of_chance_and_not_of_place() -> None:
    data = timed({(user, item): 7 for user in range(200) for item in range(10)})
    last = [split(data, method="leave-last", seed=seed, keep_last=False).test for seed in (0, 1)]
    for test in last:
        assert (test.user_counts == 1).all()
        assert np.sum((test.item_counts - 20) ** 2 / 20) < 27.9  # chi-square, 0.999, 9 degrees
    assert np.mean(last[0].indices == last[1].indices) < 0.2


def test_time_cuts_everybody_at_one_moment() -> None:
    data = big()
    result = split(data, method="time", test=0.2, validation=0.1, keep_last=False)
    train, validation, test = (part.times for part in parts_of(result))
    assert train is not None
    assert validation is not None
    assert test is not None
    assert train.max() < validation.min() <= validation.max() < test.min()
    assert abs(len(test) - 0.2 * data.n_pairs) <= 1


def test_equal_times_stay_together() -> None:
    pairs = {(user, item): item // 4 for user in range(5) for item in range(8)}
    result = split(timed(pairs), method="time", test=0.2, keep_last=False)
    assert pair_set(result.test) == {pair for pair, time in pairs.items() if time == 1}
    with pytest.raises(DataError, match="all pairs have the same time \\(7\\)"):
        split(timed(dict.fromkeys(pairs, 7)), method="time", keep_last=False)


def test_a_lost_user_gets_its_earliest_pair_back() -> None:
    pairs = {(1, 1): 1, (1, 2): 2, (2, 1): 8, (2, 2): 7, (1, 3): 3, (2, 3): 9}
    result = split(timed(pairs), method="time", test=0.5)
    assert pair_set(result.test) == {(2, 1), (2, 3)}
    assert result.kept_back == 1


def test_a_lost_item_gets_its_earliest_pair_back() -> None:
    """Also where that is the first pair of all."""
    pairs = {(1, 1): 8, (1, 2): 1, (2, 1): 9, (2, 2): 2}
    result = split(timed(pairs), method="leave-last")
    assert pair_set(result.test) == {(2, 1)}
    assert result.kept_back == 1


def test_given_is_taken_as_it_is() -> None:
    pairs = {(1, 1): 0, (1, 2): 0, (2, 1): 0, (2, 2): 0, (3, 3): 0}
    data = timed(pairs, [TRAIN, TEST, TRAIN, VALIDATION, TEST])
    result: Any = split(data, method="given", validation=0.5)
    assert pair_set(result.train) == {(1, 1), (2, 1)}
    assert pair_set(result.validation) == {(2, 2)}
    assert pair_set(result.test) == {(1, 2), (3, 3)}  # user 3 has no training pair: as given
    assert result.train.parts is None


def test_given_without_validation_gets_one_cut_from_training() -> None:
    data = big()
    rng = np.random.default_rng(0)
    parts = np.where(rng.random(data.n_pairs) < 0.3, TEST, TRAIN).astype(np.int8)
    given = replace(data, parts=parts)
    result: Any = split(given, method="given", validation=0.1)
    assert result.test.n_pairs == np.count_nonzero(parts == TEST)
    n_train = np.count_nonzero(parts == TRAIN)
    assert result.validation.n_pairs + result.kept_back == round(0.1 * n_train)
    assert split(given, method="given").validation is None


def test_describe_is_json_with_the_sizes() -> None:
    result = split(big(), validation=0.1, seed=7)
    told = json.loads(json.dumps(result.describe()))
    assert told["method"] == "random"
    assert (told["test"], told["validation"], told["seed"]) == (0.2, 0.1, 7)
    assert told["train_pairs"] == result.train.n_pairs
    assert told["kept_back"] == result.kept_back


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"method": "given"}, DataError, r"given split needs a column.*split_column"),
        ({"method": "time"}, DataError, "time split needs times.*time_column"),
        ({"method": "leave-last"}, DataError, "leave-last split needs times.*time_column"),
        ({"method": "best"}, OptionError, "'best' is not known: use random, per-user"),
        ({"test": 1.5}, OptionError, r"test is 1\.5"),
        ({"validation": 1}, OptionError, "validation is 1"),
        ({"seed": -1}, OptionError, "seed is -1"),
        ({"test": 0.1}, DataError, "leaves no test pair: 1 users, 2 items and 2 pairs"),
    ],
)
def test_what_cannot_be_done_is_said(options: Any, error: type[Exception], said: str) -> None:
    data = Interactions.from_pairs([(1, 1), (1, 2)])
    with pytest.raises(error, match=said):
        split(data, **options)
    with pytest.raises((DataError, OptionError)):
        split(data.select(np.zeros(2, dtype=bool)), **options)


def test_what_is_held_out_to_choose_by_is_the_latest_where_there_are_times() -> None:
    data: Any = big(n=2_000)
    parts = hold_out(data, 0.1, seed=1)
    assert parts.describe() == split(data, method="time", test=0.1, seed=1).describe()
    at = parts.test.times
    assert at is not None
    assert at.min() > np.quantile(data.times, 0.85)
    for plain in (replace(data, times=None), replace(data, times=np.full(data.n_pairs, 7))):
        held = hold_out(plain, 0.1, seed=1)
        assert held.settings["method"] == "random"
        assert held.test.digest() == split(plain, method="random", test=0.1, seed=1).test.digest()


PLANTED = planted(30, 40, per_user=9)


def test_every_pair_is_tested_once() -> None:
    made = list(folds(PLANTED, 4, keep_last=False))
    tests = [pair_set(parts.test) for parts in made]
    assert sum(map(len, tests)) == PLANTED.n_pairs
    assert set().union(*tests) == pair_set(PLANTED)
    assert max(map(len, tests)) - min(map(len, tests)) <= 1
    for parts, test in zip(made, tests, strict=True):
        assert pair_set(parts.train) == pair_set(PLANTED) - test
        assert parts.train.users is PLANTED.users
        assert parts.train.parts is None


def test_folds_leave_nobody_without_training_pairs() -> None:
    data = Interactions.from_pairs([(0, 0), (0, 1), (1, 1), (2, 2), (2, 1), (3, 3)])
    made = list(folds(data, 2, seed=1))
    for parts in made:
        assert (parts.train.user_counts > 0).all()
        assert (parts.train.item_counts > 0).all()
    assert sum(parts.kept_back + parts.test.n_pairs for parts in made) == data.n_pairs
    assert sum(parts.kept_back for parts in made) > 0


def test_a_validation_part_of_a_fold_comes_from_the_training_part() -> None:
    plain, held = next(iter(folds(PLANTED))), next(iter(folds(PLANTED, validation=0.1)))
    assert plain.validation is None
    assert held.validation is not None
    assert pair_set(held.test) == pair_set(plain.test)
    assert pair_set(held.train) | pair_set(held.validation) == pair_set(plain.train)
    assert str(held).startswith("folds, 1 of 5, seed 0;")


def test_folds_repeat_whatever_the_order_of_the_rows() -> None:
    rows = list(pair_set(PLANTED))
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    digests = [
        [parts.test.digest() for parts in folds(data, 3, seed=seed)]
        for data, seed in ((rows, 7), (shuffled, 7), (rows, 8))
    ]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@pytest.mark.parametrize("count", [1, 0, 2.5, True])
def test_the_number_of_folds_is_a_count(count: Any) -> None:
    with pytest.raises(OptionError, match="2 or more"):
        next(iter(folds(PLANTED, count)))
