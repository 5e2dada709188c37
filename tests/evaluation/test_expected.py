"""The closed forms against every order that the ties allow."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.evaluation.metrics import COLUMNS, discounts, ideal_dcg, ranked_metrics
from xorec.evaluation.ties import expected_gain, expected_metrics

KS = np.array([1, 2, 3, 5, 8], dtype=np.int64)
TABLE = discounts(8), ideal_dcg(8)
Group = tuple[bool, ...]


def closed_form(groups: list[Group], missing: int) -> np.ndarray:
    above, tied, start = [], [], 0
    for group in groups:
        above += [start] * sum(group)
        tied += [len(group)] * sum(group)
        start += len(group)
    out = np.full((len(COLUMNS), len(KS)), np.nan)
    n_test = len(above) + missing
    expected_metrics(np.array(above, int), np.array(tied, int), n_test, KS, *TABLE, out)
    return out


def brute_force(groups: list[Group], missing: int) -> np.ndarray:
    """The mean of the plain metrics over all orders inside the groups."""
    n_test = sum(map(sum, groups)) + missing
    tables = []
    for orders in product(*(list(permutations(group)) for group in groups)):
        flags = [flag for order in orders for flag in order]
        out = np.full((len(COLUMNS), len(KS)), np.nan)
        ranks = np.flatnonzero(flags) + 1
        ranked_metrics(ranks[ranks <= 8], n_test, KS, *TABLE, out)
        tables.append(out)
    mean: np.ndarray = np.mean(tables, axis=0)
    return mean


@st.composite
def tie_groups(draw: st.DrawFn) -> list[Group]:
    groups: list[Group] = []
    while sum(map(len, groups)) < 8 and draw(st.booleans()):
        room = min(5, 9 - sum(map(len, groups)))
        groups.append(tuple(draw(st.lists(st.booleans(), min_size=1, max_size=room))))
    return groups


@settings(deadline=None, max_examples=150)
@given(groups=tie_groups(), missing=st.integers(0, 3))
def test_expected_values_are_the_means_over_all_tie_orders(
    groups: list[Group], missing: int
) -> None:
    if not sum(map(sum, groups)) + missing:
        missing = 1
    np.testing.assert_allclose(
        closed_form(groups, missing), brute_force(groups, missing), rtol=0, atol=1e-12
    )


def test_one_group_of_all_items_by_hand() -> None:
    """Four items alike, two of them relevant: k = 2 holds a hit in 5 of 6 orders."""
    found = closed_form([(True, True, False, False)], 0)
    named = {name: found[column] for column, name in enumerate(COLUMNS)}
    assert named["hits"][:2] == pytest.approx([1 / 2, 1], abs=1e-15)
    assert named["user_hr"][:3] == pytest.approx([1 / 2, 5 / 6, 1], abs=1e-15)
    assert named["mrr"][2] == pytest.approx(1 / 2 + (1 / 3) / 2 + (1 / 6) / 3, abs=1e-15)


@settings(deadline=None)
@given(flags=st.lists(st.booleans(), min_size=8, max_size=8), missing=st.integers(1, 3))
def test_without_ties_they_are_the_plain_metrics_to_the_last_bit(
    flags: list[bool], missing: int
) -> None:
    groups: list[Group] = [(flag,) for flag in flags]
    np.testing.assert_array_equal(closed_form(groups, missing), brute_force(groups, missing))


def test_the_gain_of_one_item_of_a_group() -> None:
    gains = [*TABLE[0][2:5], 0.0, 0.0]  # ranks 3 to 7, cut at 5
    assert expected_gain(2, 5, 5, TABLE[0]) == pytest.approx(np.mean(gains), abs=1e-15)
    assert expected_gain(5, 3, 5, TABLE[0]) == 0


def test_large_groups_stay_probabilities() -> None:
    out = np.empty((len(COLUMNS), len(KS)))
    above, tied = np.zeros(400, int), np.full(400, 100_000)
    expected_metrics(above, tied, 400, KS, *TABLE, out)
    chance = 400 / 100_000
    named = {name: out[column] for column, name in enumerate(COLUMNS)}
    assert named["hits"] == pytest.approx(KS * chance, rel=1e-12)
    assert named["user_hr"] == pytest.approx(1 - (1 - chance) ** KS, rel=1e-2)
