"""The closed forms against every order that the ties allow."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.evaluation.metrics import USER_METRICS
from xorec.evaluation.metrics.base import MISSED, Floats, RankedTests, make_cuts

KS = (1, 2, 3, 5, 8)
CUTS = make_cuts(KS, 8)
TWINS = [metric for metric in USER_METRICS.values() if metric.expected is not None]
NAMES = [metric.per_user or metric.name for metric in TWINS]
Group = tuple[bool, ...]


def measured(tests: RankedTests, ending: str) -> Floats:
    """(metrics, ks) of one user."""
    tables, counts = [], np.diff(tests.indptr)
    for metric in TWINS:
        out = np.full((1, len(KS)), np.nan)
        metric.measures[ending](tests, CUTS, out)
        tables.append([metric.scale(out[:, at], counts, k)[0] for at, k in enumerate(KS)])
    return np.array(tables)


def of_one_user(ranks: list[int], above: list[int], tied: list[int], missing: int) -> RankedTests:
    ends = [MISSED] * missing
    columns = ([*ranks, *ends], [*above, *ends], [*tied, *[0] * missing])
    arrays = [np.array(column, np.int32) for column in columns]
    return RankedTests(np.array([0, len(arrays[0])]), *arrays)


def closed_form(groups: list[Group], missing: int) -> Floats:
    above: list[int] = []
    tied: list[int] = []
    start = 0
    for group in groups:
        above += [start] * sum(group)
        tied += [len(group)] * sum(group)
        start += len(group)
    return measured(of_one_user([0] * len(above), above, tied, missing), "_expected")


def brute_force(groups: list[Group], missing: int) -> Floats:
    """The mean of the plain metrics over all orders inside the groups."""
    tables = []
    for orders in product(*(list(permutations(group)) for group in groups)):
        flags = [flag for order in orders for flag in order]
        places = np.flatnonzero(flags) + 1
        reached = places[places <= 8].tolist()
        beyond = len(places) - len(reached) + missing
        zeros = [0] * len(reached)
        tables.append(measured(of_one_user(reached, zeros, zeros, beyond), ""))
    mean: Floats = np.mean(tables, axis=0)
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


@settings(deadline=None)
@given(flags=st.lists(st.booleans(), min_size=8, max_size=8), missing=st.integers(1, 3))
def test_without_ties_they_are_the_plain_metrics_to_the_last_bit(
    flags: list[bool], missing: int
) -> None:
    groups: list[Group] = [(flag,) for flag in flags]
    np.testing.assert_array_equal(closed_form(groups, missing), brute_force(groups, missing))


def test_large_groups_stay_probabilities() -> None:
    tests = of_one_user([0] * 400, [0] * 400, [100_000] * 400, 0)
    out = measured(tests, "_expected")
    ks = np.array(KS)
    chance = 400 / 100_000
    named = {name: out[column] for column, name in enumerate(NAMES)}
    assert named["hits"] == pytest.approx(ks * chance, rel=1e-12)
    assert named["user_hr"] == pytest.approx(1 - (1 - chance) ** ks, rel=1e-2)
