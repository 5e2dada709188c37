"""A choice of items fits the model that made it, and copies of that model."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import xorec
from xorec.core.errors import OptionError
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

MODELS = [xorec.ItemKNN(), xorec.DSIML(bits=16, epochs=1), xorec.BPR(epochs=1)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_of_another_model(model: xorec.ItemKNN, tmp_path: Path) -> None:
    data, other = planted(30, 20, per_user=4), planted(30, 25, per_user=4)
    shop = Recommender.from_model(model.fit(data), data)
    strange = Recommender.from_model(xorec.BPR(epochs=1).fit(other), other)
    chosen = shop.item_filter(shop.item_ids.take(range(0, 20, 2)))
    user = shop.user_ids[0]
    expected = shop.recommend(user, allow=chosen).ids()
    assert expected
    assert len(chosen) == 10
    with pytest.raises(OptionError, match="other items: make it again"):
        strange.recommend(strange.user_ids[0], allow=chosen)
    with pytest.raises(OptionError, match="other items"):
        strange.recommend_many([strange.user_ids[0]], allow=chosen)
    shop.save(tmp_path / "m")
    for copy in (pickle.loads(pickle.dumps(shop)), Recommender.load(tmp_path / "m")):
        assert copy.recommend(user, allow=chosen).ids() == expected
        assert copy.recommend(user, allow=pickle.loads(pickle.dumps(chosen))).ids() == expected
    assert shop.recommend(user, allow=chosen).ids() == expected


def test_of_a_model_with_as_many_other_items() -> None:
    """Rows are rows of other items there."""
    data = planted(30, 20, per_user=4)
    other = xorec.read([(user, f"item {item}") for user in range(9) for item in range(20)])
    shop, strange = (Recommender.from_model(xorec.ItemKNN().fit(one), one) for one in (data, other))
    assert len(shop.item_ids) == len(strange.item_ids)
    with pytest.raises(OptionError, match="other items: make it again"):
        strange.recommend(0, seen=True, allow=shop.item_filter([shop.item_ids[0]]))


def test_of_the_model_before_an_update() -> None:
    data = planted(30, 20, per_user=4)
    shop = Recommender.from_model(xorec.ALS(dimensions=2, epochs=1).fit(data), data)
    chosen, user = shop.item_filter([shop.item_ids[0]]), shop.user_ids[0]
    with pytest.raises(OptionError, match="other items"):
        shop.update(xorec.read([(user, 10**6)])).recommend(user, allow=chosen)
