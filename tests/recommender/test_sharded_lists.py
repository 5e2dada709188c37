"""A recommender that is searched in shards gives the lists of one index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import xorec
from xorec.core.errors import OptionError
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.search.sharded import ShardedIndex
from xorec.testing.data import planted
from xorec.testing.store_models import codes, recommender_of

DATA = planted(60, 90, per_user=12)
FITTED: dict[str, Any] = {
    "codes": xorec.DSIML(bits=16, epochs=2),
    "offsets": xorec.DSIML(bits=16, epochs=2, offset=2.0),
    "float users": xorec.DSIML(bits=16, epochs=2, asymmetric=True),
    "item-knn": xorec.ItemKNN(),
    "slim": xorec.SLIM(),
    "few weights": xorec.EASE(neighbours=10),
    "dense weights": xorec.EASE(),
    "popularity": xorec.Popularity(),
    "composed": xorec.CCCF(bits=16, epochs=2),
    "masked": xorec.PHD(bits=16, epochs=2),
    "codebooks": xorec.LightRec(epochs=2),
}
MORE_CUTS: list[Any] = [1, 5, 90, 200, [44, 45, 46], []]
CUTS = [
    2,
    [0, 0, 45, 90],
    *(pytest.param(cuts, marks=pytest.mark.exhaustive) for cuts in MORE_CUTS),
]


@pytest.fixture(scope="module", params=FITTED)
def whole(request: pytest.FixtureRequest) -> Recommender:
    return Recommender.from_model(FITTED[request.param].fit(DATA), DATA)


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_lists_scores_distances_and_ties_are_the_same(whole: Recommender, cuts: Any) -> None:
    parts = whole.sharded(cuts)
    items, users = list(whole.item_ids), list(whole.user_ids)
    assert isinstance(parts.index, ShardedIndex)
    for user in users[:6]:
        assert parts.recommend(user, 20) == whole.recommend(user, 20)
        assert parts.recommend(user, 200, seen=True) == whole.recommend(user, 200, seen=True)
        rules: dict[str, Any] = {"deny": items[:30], "allow": items[10:70]}
        assert parts.recommend(user, 15, **rules) == whole.recommend(user, 15, **rules)
    for count in (1, 4):
        history = items[7 : 7 + count]
        assert parts.recommend_for(history, 30) == whole.recommend_for(history, 30)
    ready = parts.item_filter(items[5:60])
    assert parts.recommend_many(users, 9, allow=ready) == whole.recommend_many(
        users, 9, allow=items[5:60]
    )


def test_lists_for_everybody_are_the_same_file(whole: Recommender, tmp_path: Path) -> None:
    frames = []
    for number, one in enumerate((whole, whole.sharded(7))):
        path = tmp_path / f"{number}.parquet"
        batch.write(batch.for_all_users(one, 15, deny=list(whole.item_ids)[:9]), path)
        frames.append(pl.read_parquet(path))
    assert frames[0].equals(frames[1])


def test_ties_that_are_cut_in_the_middle() -> None:
    whole = recommender_of(codes(20, n_items=60, distinct=2), categories=True)
    for cut in range(61):
        parts = whole.sharded([cut])
        for user in list(whole.user_ids)[:4]:
            assert parts.recommend(user, 25) == whole.recommend(user, 25)
    assert whole.categories is not None
    label = whole.categories.labels[0]
    chosen = [one.in_category(label) for one in (parts, whole)]
    user = whole.user_ids[1]
    assert parts.recommend(user, allow=chosen[0]) == whole.recommend(user, allow=chosen[1])


def test_one_item() -> None:
    whole = recommender_of(codes(20, n_items=1))
    assert whole.sharded(3).recommend(0, 5) == whole.recommend(0, 5)


def test_what_cannot_be_cut_says_why() -> None:
    bpr = Recommender.from_model(xorec.BPR(epochs=1).fit(DATA), DATA)
    with pytest.raises(OptionError, match=r"vectors.* is not searched in shards: .*BLAS"):
        bpr.sharded(2)
    some = recommender_of(codes())
    with pytest.raises(OptionError, match="shards is 0"):
        some.sharded(0)
    with pytest.raises(OptionError, match=r"cuts \[5, 3\] do not ascend"):
        some.sharded([5, 3])


def test_a_file_without_its_index(tmp_path: Path) -> None:
    made = recommender_of(codes(n_items=300))
    made.save(tmp_path / "m.xorec", index=True)
    bare = Recommender.load(tmp_path / "m.xorec", index=False)
    assert "index" in vars(Recommender.load(tmp_path / "m.xorec"))
    assert "index" not in vars(bare)
    assert bare.recommend(3, 5) == made.recommend(3, 5)
    np.testing.assert_array_equal(bare.tie_rank, made.tie_rank)
