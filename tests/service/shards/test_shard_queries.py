"""Queries go to shards as bytes and come back as they were, of every kind that is searched so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xorec
from xorec.core.errors import DataError, OptionError
from xorec.data.interactions import Interactions
from xorec.recommender.recommender import Recommender
from xorec.service.schemas.shards import ShardQuery
from xorec.service.shards.queries import pack_query, unpack_query
from xorec.testing.data import planted, weighted

DATA = planted(30, 40, per_user=8)
FITTED: dict[str, tuple[Any, Interactions]] = {
    "codes": (xorec.DSIML(bits=70, epochs=1), DATA),
    "masked": (xorec.PHD(bits=16, epochs=1), DATA),
    "float users": (xorec.DSIML(bits=16, epochs=1, asymmetric=True), DATA),
    "composed": (xorec.CCCF(bits=16, epochs=1), DATA),
    "codebooks": (xorec.LightRec(epochs=1), DATA),
    "item-knn": (xorec.ItemKNN(), DATA),
    "weighted": (xorec.SLIM(), weighted(DATA)),
    "popularity": (xorec.Popularity(), DATA),
    "dense": (xorec.EASE(), DATA),
    "dense, weighted": (xorec.EASE(), weighted(DATA)),
}


@pytest.mark.parametrize("kind", FITTED)
def test_there_and_back(kind: str) -> None:
    model, data = FITTED[kind]
    shop = Recommender.from_model(model.fit(data), data)
    learned = shop.representation
    for query in (
        learned.queries(np.array([3])),
        shop.fold_in_rows(np.array([2, 5, 7])),
        shop.fold_in_rows(np.array([0])),
    ):
        sent = {name: one.tobytes() for name, one in pack_query(query).items()}
        back = unpack_query(learned, ShardQuery(**sent))
        np.testing.assert_array_equal(learned.score(back), learned.score(query))


def test_a_history_is_looked_at() -> None:
    learned = xorec.ItemKNN().fit(DATA).representation_

    def ask(items: list[int], values: list[float] | None = None) -> Any:
        sent = {"items": np.array(items, "<i4").tobytes()}
        if values is not None:
            sent["values"] = np.array(values, "<f4").tobytes()
        return unpack_query(learned, ShardQuery(**sent))

    assert len(ask([]).indices) == 0
    for wrong in ([40], [-1], [3, 2], [3, 3]):
        with pytest.raises(DataError, match="rows of items do not ascend"):
            ask(wrong)
    for values in ([1.0], [1.0, float("nan")]):
        with pytest.raises(DataError, match="values has"):
            ask([1, 2], values)


def test_what_is_not_searched_in_shards_says_so() -> None:
    learned = xorec.BPR(epochs=1).fit(DATA).representation_
    with pytest.raises(OptionError, match=r"is not searched in shards: .*BLAS"):
        unpack_query(learned, ShardQuery(**{"vectors": bytes(4)}))
