from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xorec.core.errors import OptionError
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.testing.data import planted

ALPHAS = (0.0, 0.5, 1.0)


@st.composite
def small_data(draw: st.DrawFn) -> Interactions:
    """Up to 6 users x 8 items, nearly empty to entirely full rows."""
    items = draw(st.integers(2, 8))
    cells = st.lists(st.integers(0, items - 1), min_size=1, max_size=items, unique=True)
    rows = draw(st.lists(cells, min_size=1, max_size=6))
    pairs = [(user, item) for user, row in enumerate(rows) for item in row]
    return Interactions.from_pairs([*pairs, *((99, item) for item in range(items))])


@given(small_data(), st.sampled_from(ALPHAS), st.integers(0, 2**63 - 1), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_never_a_positive_and_none_only_for_users_who_have_everything(
    data: Interactions, alpha: float, seed: int, epoch: int
) -> None:
    drawn = Negatives.of(data, alpha).draw_all(4, seed, epoch)
    for pair in range(data.n_pairs):
        own = set(data.of_user(int(data.user_rows[pair])))
        if len(own) == data.n_items:
            assert (drawn[pair] == -1).all()
        else:
            assert set(drawn[pair]) <= set(range(data.n_items)) - own


@pytest.mark.parametrize("alpha", ALPHAS)
def test_frequencies_are_popularity_to_the_alpha(alpha: float) -> None:
    """A user who lacks three items gets them in proportion to popularity**alpha (chi-square)."""
    pairs = [("full", item) for item in range(9)]
    pairs += [(f"u{n}", item) for item in range(9) for n in range(item * item + 1)]
    pairs += [("me", item) for item in (0, 2, 3, 5, 6, 7)]
    data = Interactions.from_pairs(pairs)
    me = data.users.find("me")
    counts = np.zeros(9)
    sampler = Negatives.of(data, alpha)
    mine = np.flatnonzero(data.user_rows == me)
    users = np.full(len(mine), me, dtype=np.int32)
    drawn = np.empty((len(mine), 10), dtype=np.int32)
    for epoch in range(200):
        sampler.draw(drawn, mine, users, 5, epoch)
        counts += np.bincount(drawn.ravel(), minlength=9)
    lacking = [1, 4, 8]
    assert counts.sum() == counts[lacking].sum() == 200 * 6 * 10
    weights = data.item_counts[lacking].astype(float) ** alpha
    expected = counts.sum() * weights / weights.sum()
    chi_square = np.sum((counts[lacking] - expected) ** 2 / expected)
    assert chi_square < 13.8  # 0.999 quantile, two degrees of freedom


@pytest.mark.parametrize("alpha", ALPHAS)
def test_an_item_that_nobody_has_can_be_drawn(alpha: float) -> None:
    data = Interactions.from_pairs([(user, item) for user in range(3) for item in range(40)])
    train = data.select(data.indices != 17)
    assert (Negatives.of(train, alpha).draw_all(3, 0, 0) == 17).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_draws_hang_on_their_key_alone(alpha: float) -> None:
    """Any part of the pairs, in any order: the same negatives."""
    data = planted(80, 60)
    sampler = Negatives.of(data, alpha)
    whole = sampler.draw_all(5, 11, 3)
    some = np.random.default_rng(0).permutation(data.n_pairs)[:333]
    part = np.empty((len(some), 5), dtype=np.int32)
    sampler.draw(part, some, data.user_rows[some], 11, 3)
    np.testing.assert_array_equal(part, whole[some])
    assert (sampler.draw_all(5, 11, 4) != whole).any()
    assert (sampler.draw_all(5, 12, 3) != whole).any()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_what_others_have_does_not_change_a_users_draws(alpha: float) -> None:
    """The neighbours of user 1 swap their items: all is as popular as before."""
    few, many, own = range(3), range(3, 40), (1, 7, 30)

    def draws(first: range, last: range) -> np.ndarray:
        pairs = [(user, item) for user, items in enumerate((first, own, last)) for item in items]
        data = Interactions.from_pairs([*pairs, *((3, item) for item in range(50))])
        drawn = Negatives.of(data, alpha).draw_all(6, seed=2, epoch=5)
        return np.asarray(drawn[data.user_rows == 1])

    np.testing.assert_array_equal(draws(few, many), draws(many, few))


def test_alpha_out_of_range() -> None:
    with pytest.raises(OptionError, match=r"alpha is 3\.0"):
        Negatives.of(planted(20, 30), 3.0)
