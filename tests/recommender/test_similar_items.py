"""Items like several items, and only those that may be shown."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import xorec
from xorec.testing.data import planted

DATA = planted(40, 80, per_user=6)
BLEND = xorec.Blend(start={"epochs": 1}, weight=0.5)


@cache
def _shop() -> xorec.Recommender:
    return xorec.Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA)


@pytest.mark.parametrize("items", [[1001, 1000], (1001, 1000), np.array([1001, 1000])])
def test_a_list_of_items_gets_a_list_of_lists(items: list[int]) -> None:
    lists = _shop().similar(items, k=4)
    assert [one.query for one in lists] == [1001, 1000]
    assert lists.ids() == [_shop().similar(1001, k=4).ids(), _shop().similar(1000, k=4).ids()]
    assert [*lists[0].to_dict()] == ["item", "items"]


def test_the_frame_has_the_columns_of_the_file_of_all_items() -> None:
    first, second = _shop().similar([1001, 1000], k=2)
    frame = _shop().similar([1001, 1000], k=2).to_frame()
    assert frame.columns == ["item", "rank", "similar", "score"]
    assert frame["item"].to_list() == [1001, 1001, 1000, 1000]
    assert frame["similar"].to_list() == first.ids() + second.ids()
    assert _shop().similar([]) == []


def test_the_list_is_the_full_one_without_the_others() -> None:
    every = _shop().similar(1001, k=80).ids()
    denied, allowed = every[:3], every[1::2]
    assert _shop().similar(1001, k=5, deny=denied).ids() == every[3:8]
    assert _shop().similar(1001, k=5, allow=allowed).ids() == allowed[:5]
    assert _shop().similar(1001, k=5, allow=allowed, deny=denied).ids() == allowed[1:6]


@pytest.mark.parametrize("model", [xorec.ItemKNN(), BLEND], ids=lambda model: model.name)
def test_a_filter_is_for_both_kinds_of_lists(model: xorec.ItemKNN) -> None:
    """A blend finds lists by codes, and similar items by vectors."""
    shop = xorec.Recommender.from_model(model.fit(DATA), DATA)
    every = shop.similar(1001, k=80).ids()
    in_stock = shop.item_filter(every[1::2])
    for _ in range(2):  # prepared for one index, then for the other
        assert shop.similar(1001, k=5, allow=in_stock).ids() == every[1:10:2]
        assert {*shop.recommend(3, k=80, allow=in_stock).ids()} <= {*every[1::2]}
