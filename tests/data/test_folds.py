"""Cross-validation: every pair is tested once, nothing depends on the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.data.interactions import Interactions
from xorec.data.split import folds
from xorec.testing.data import planted

DATA = planted(30, 40, per_user=9)


def pairs_of(data: Interactions) -> set[tuple[Any, Any]]:
    users, items = data.users.take(data.user_rows), data.items.take(data.indices)
    return set(zip(users, items, strict=True))


def test_every_pair_is_tested_once() -> None:
    made = list(folds(DATA, 4, keep_last=False))
    tests = [pairs_of(parts.test) for parts in made]
    assert sum(map(len, tests)) == DATA.n_pairs
    assert set().union(*tests) == pairs_of(DATA)
    assert max(map(len, tests)) - min(map(len, tests)) <= 1
    for parts, test in zip(made, tests, strict=True):
        assert pairs_of(parts.train) == pairs_of(DATA) - test
        assert parts.train.users is DATA.users
        assert parts.train.parts is None


def test_nobody_is_left_without_training_pairs() -> None:
    data = Interactions.from_pairs([(0, 0), (0, 1), (1, 1), (2, 2), (2, 1), (3, 3)])
    made = list(folds(data, 2, seed=1))
    for parts in made:
        assert (parts.train.user_counts > 0).all()
        assert (parts.train.item_counts > 0).all()
    assert sum(parts.kept_back + parts.test.n_pairs for parts in made) == data.n_pairs
    assert sum(parts.kept_back for parts in made) > 0


def test_a_validation_part_comes_from_the_training_part() -> None:
    plain, held = next(iter(folds(DATA))), next(iter(folds(DATA, validation=0.1)))
    assert plain.validation is None
    assert held.validation is not None
    assert pairs_of(held.test) == pairs_of(plain.test)
    assert pairs_of(held.train) | pairs_of(held.validation) == pairs_of(plain.train)
    assert str(held).startswith("folds, 1 of 5, seed 0;")


def test_a_seed_repeats_whatever_the_order_of_the_rows() -> None:
    rows = list(pairs_of(DATA))
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
        next(iter(folds(DATA, count)))
