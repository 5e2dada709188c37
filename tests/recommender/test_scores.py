"""Scores of given users and items: the numbers that lists are ranked by."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import xorec
from xorec.core.errors import UnknownIdError
from xorec.recommender import recommender
from xorec.testing.data import planted

DATA = planted(40, 80, per_user=6)


@cache
def _shop() -> xorec.Recommender:
    return xorec.Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA)


def test_scores_are_those_of_the_list_in_the_order_asked_for() -> None:
    best = _shop().recommend(3, k=80, seen=True)
    asked = best.ids()[::-1]
    scores = _shop().scores(3, asked)
    assert scores.dtype == np.float32
    assert scores.tolist() == [one.score for one in best.items][::-1]
    assert scores[0] == _shop().explain(3, asked[0]).score


def test_without_items_it_is_all_of_them_by_row() -> None:
    scores = _shop().scores(3)
    assert scores.shape == (80,)
    assert scores.tolist() == _shop().scores(3, _shop().item_ids).tolist()


@pytest.mark.parametrize("at_once", [1, 2, 256])
def test_many_users_have_a_row_each(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recommender, "_SCORED_AT_ONCE", at_once)
    scores = _shop().scores([5, 3, 5], [1007, 1001])
    assert scores.shape == (3, 2)
    assert scores.tolist() == [_shop().scores(user, [1007, 1001]).tolist() for user in (5, 3, 5)]
    assert _shop().scores(np.array(5), [1001]).shape == (1,)
    assert _shop().scores([], [1001]).shape == (0, 1)


def test_an_unknown_id_is_named() -> None:
    with pytest.raises(UnknownIdError, match="user 99 is not in the model"):
        _shop().scores(99)
    with pytest.raises(UnknownIdError, match="item 7 is not in the model"):
        _shop().scores(3, [7])
