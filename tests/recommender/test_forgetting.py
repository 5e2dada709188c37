from __future__ import annotations

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.recommender.updating import without_users
from xorec.testing.examples import shop


def test_ids_histories_and_counts_are_gone() -> None:
    left = without_users(shop(), ["ann", "dia", "nobody"])
    assert list(left.user_ids) == ["bob", "cem"]
    assert [left.item_ids.take(left.items_of(row)) for row in (0, 1)] == [["milk", "tea"], ["tea"]]
    counts = dict(zip(left.item_ids, left.item_counts.tolist(), strict=True))
    assert counts == {"milk": 1, "rice": 0, "tea": 2}
    assert left.metadata["data"]["users"] == 2
    assert sorted(left.tie_rank.tolist()) == [0, 1, 2]


def test_nobody_gone_is_the_same_and_everybody_gone_is_refused() -> None:
    assert without_users(shop(), ["nobody"]) is shop()
    with pytest.raises(DataError, match="nobody would be left"):
        without_users(shop(), shop().user_ids)
    assert np.array_equal(without_users(shop(), []).tie_rank, shop().tie_rank)
