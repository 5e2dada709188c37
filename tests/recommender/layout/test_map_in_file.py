"""The map in the model file: kept, checked, carried along, and passed over where there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import xorec
from xorec.core.errors import ModelFileError
from xorec.recommender import model_file
from xorec.recommender.item_map import with_map
from xorec.recommender.recommender import Recommender
from xorec.recommender.updating import without_users
from xorec.testing.data import planted

DATA = planted(90, 60, per_user=12)


@pytest.fixture(scope="module")
def shop() -> Recommender:
    return Recommender.from_model(xorec.DSIML(bits=32, epochs=2).fit(DATA), DATA)


def test_a_map_comes_back_and_lists_stay(shop: Recommender, tmp_path: Path) -> None:
    made, about = with_map(shop)
    made.save(tmp_path / "m.xorec")
    loaded = Recommender.load(tmp_path / "m.xorec")
    assert made.map_xy is not None
    assert loaded.map_xy is not None
    np.testing.assert_array_equal(loaded.map_xy, made.map_xy)
    assert loaded.map_xy.dtype == np.int16
    assert (made.map_xy < 0).any()
    assert loaded.metadata["map"] == about
    assert loaded.recommend(DATA.users[0]) == shop.recommend(DATA.users[0])
    made.save(tmp_path / "again.xorec")
    assert (tmp_path / "m.xorec").read_bytes() == (tmp_path / "again.xorec").read_bytes()
    stored = load_file(tmp_path / "m.xorec")["map.places"]
    np.testing.assert_array_equal(stored.view(np.int16), made.map_xy)


def test_a_file_without_a_map_has_none(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec")
    assert Recommender.load(tmp_path / "m.xorec").map_xy is None
    assert "map.places" not in load_file(tmp_path / "m.xorec")


@pytest.mark.parametrize("shape", [(59, 2), (60, 3), (60,)])
def test_places_that_do_not_fit_are_refused(
    shop: Recommender, tmp_path: Path, shape: tuple[int, ...]
) -> None:
    made, _ = with_map(shop, "pca")
    model_file.save(tmp_path / "m.xorec", replace(made, map_xy=np.zeros(shape, np.int16)), {})
    with pytest.raises(ModelFileError, match=r"map\.places"):
        Recommender.load(tmp_path / "m.xorec")


def test_an_update_keeps_places_and_new_items_come_to_what_is_like_them(shop: Recommender) -> None:
    made, about = with_map(shop)
    after = made.update(_new_pairs())
    assert made.map_xy is not None
    assert after.map_xy is not None
    assert len(after.item_ids) == len(made.item_ids) + 1
    np.testing.assert_array_equal(after.map_xy[:-1], made.map_xy)
    assert after.metadata["map"] == {"layout": about["layout"], "seed": 0}
    new = after.item_codes[-1]
    distance = np.bitwise_count(after.item_codes[:-1] ^ new).sum(axis=1)
    assert after.map_xy[-1].tolist() in made.map_xy[distance == distance.min()].tolist()
    assert shop.update(_new_pairs()).map_xy is None


def _new_pairs() -> list[tuple[int, int]]:
    new = int(max(DATA.items)) + 1
    return [(user, new) for user in list(DATA.users)[:8]]


def test_who_forgets_users_keeps_the_map(shop: Recommender) -> None:
    made, _ = with_map(shop, "pca")
    fewer = without_users(made, [DATA.users[0]])
    assert made.map_xy is not None
    assert fewer.map_xy is not None
    np.testing.assert_array_equal(fewer.map_xy, made.map_xy)


def test_a_kept_index_is_not_made_anew(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec", index=True)
    loaded = Recommender.load(tmp_path / "m.xorec")
    assert with_map(loaded, "pca")[0].index is loaded.index
