"""Layouts: groups are found, neighbours kept, equal input gives equal bits; the map in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

import xorec
from xorec.core.bits import pack_signs
from xorec.core.errors import ModelFileError, OptionError
from xorec.core.options import RunOptions
from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank
from xorec.recommender import model_file
from xorec.recommender.item_map import (
    Features,
    features_of,
    kept_neighbours,
    principal_places,
    principal_plane,
    weight_directions,
    whole,
    with_map,
)
from xorec.recommender.neighbour_layout import EqualCodes, Round, laid_out, move, neighbour_graph
from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import compared_items
from xorec.recommender.updating import without_users
from xorec.representations.codes import Codes
from xorec.testing.data import planted

from .conftest import DATA, fitted

Places = npt.NDArray[Any]
GROUPS = 12


def planted_codes(items: int = 1200, bits: int = 64, seed: int = 3) -> Recommender:
    """Items of 12 groups in turn: codes of a group differ in few bits, groups in half of all."""
    rng = np.random.default_rng(seed)
    centres = rng.choice([-1, 1], (GROUPS, bits))
    flips = np.where(rng.random((items, bits)) < 0.08, -1, 1)
    codes = pack_signs(centres[np.arange(items) % GROUPS] * flips)
    ids, counts = Ids("int64", np.arange(items)), rng.integers(1, 50, items)
    return Recommender(
        Codes(codes[:5], codes, bits),
        user_ids=Ids("int64", np.arange(5)),
        item_ids=ids,
        seen=(np.zeros(6, dtype=np.int64), np.zeros(0, dtype=np.int32)),
        item_counts=counts.astype(np.int64),
        tie_rank=tie_rank(ids, counts),
        metadata={"model": "dsiml", "config": xorec.DSIML().config.model_dump()},
    )


def xy(shop: Recommender) -> npt.NDArray[np.int16]:
    """The map that a recommender has."""
    assert shop.map_xy is not None
    return shop.map_xy


def purity(places: Places, group: npt.NDArray[np.int64] | None = None, k: int = 10) -> float:
    """The share of the k nearest on the map that are of the item's own group (a planted one)."""
    x = places.astype(np.float64)
    own = np.arange(len(x)) % GROUPS if group is None else group
    distance = np.square(x[:, None] - x[None]).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    near = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return float((own[near] == own[:, None]).mean())


def test_planted_groups_are_together_and_better_kept_than_by_pca() -> None:
    shop = planted_codes()
    made, about = with_map(shop)
    assert purity(xy(made)) > 0.97
    by_pca = kept_neighbours(compared_items(shop), principal_places(shop))
    assert purity(principal_places(shop)) < 0.8
    assert about["kept_10"] > 1.3 * by_pca[10]
    assert about["kept_50"] > 1.3 * by_pca[50]
    assert made.metadata["map"] == about
    assert about["layout"] == "neighbours"


def test_the_same_bits_for_any_number_of_threads_another_seed_another_map() -> None:
    shop = planted_codes(700)
    one, two, other = (
        xy(with_map(shop, options=RunOptions(seed=seed, threads=threads))[0])
        for seed, threads in ((0, 1), (0, 3), (1, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("items", [1, 2, 3, 11])
def test_small_catalogues(items: int) -> None:
    for layout in ("pca", "neighbours") if items > 1 else ("pca",):
        made, _ = with_map(planted_codes(items), layout)
        assert xy(made).shape == (items, 2)


def test_one_item_or_a_model_that_compares_nothing_has_no_neighbours() -> None:
    data = planted(30, 20)
    popular = Recommender.from_model(xorec.Popularity().fit(data), data)
    assert "kept_10" not in with_map(popular, "pca")[1]
    for model in (popular, planted_codes(1)):
        with pytest.raises(OptionError, match="take --layout pca"):
            with_map(model, "neighbours")
    with pytest.raises(OptionError, match="pca or neighbours"):
        with_map(popular, "tsne")


@pytest.mark.parametrize("model", [xorec.SLIM(), xorec.ItemKNN(), xorec.ALS(dimensions=8)])
def test_neighbours_of_models_without_codes(model: Any) -> None:
    data = planted(500, 300, groups=15)
    shop = Recommender.from_model(model.fit(data), data)
    pca, laid = (with_map(shop, layout)[1] for layout in ("pca", "neighbours"))
    assert laid["kept_10"] > pca["kept_10"]


def test_a_step_is_the_gradient_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(40, 2)).astype(np.float32) * 3
    graph = neighbour_graph(rng.integers(0, 40, (40, 3)).astype(np.int32))
    moved = np.empty_like(places)
    move(graph, places, moved, Round(0, 0, 0.5, 0.7, 1000, 0), 0, 40)
    for i in range(40):
        total = np.zeros(2)
        linked = graph.linked[graph.indptr[i] : graph.indptr[i + 1]]
        for j in linked:
            away = places[j].astype(float) - places[i]
            d = np.sqrt(away @ away)
            pull = 2 / (1 + d * d) * (1 - 0.7 / max(d, 7e-4) if d < 0.7 else 1)
            total += np.clip(pull * away, -4, 4)
        np.testing.assert_allclose(moved[i], places[i] + 0.5 * total / len(linked), atol=1e-4)


def test_strangers_push() -> None:
    pairs = neighbour_graph(np.array([[1], [0], [3], [2]], dtype=np.int32))
    places = np.array([[0, 0], [0, 0], [2, 0], [2, 0]], dtype=np.float32)  # links pull nobody
    moved = np.empty_like(places)
    move(pairs, places, moved, Round(0, 0, 0.01, 0.0, 1, 40), 0, 4)
    assert (moved[:2, 0] < 0).all()
    assert (moved[2:, 0] > 2).all()
    np.testing.assert_array_equal(moved[:, 1], 0)


def test_pairs_stay_together() -> None:
    pairs = neighbour_graph(np.array([[1], [0], [3], [2]], dtype=np.int32))
    laid = laid_out(pairs, np.zeros((4, 2), dtype=np.float32), RunOptions(), rounds=100)
    across = np.linalg.norm(laid[:2].mean(axis=0) - laid[2:].mean(axis=0))
    assert np.linalg.norm(laid[0] - laid[1]) < across / 2


def test_equal_codes_lie_around_one_place_the_most_popular_amid() -> None:
    shop = planted_codes(300)
    codes = np.repeat(shop.item_codes[:30], 10, axis=0)
    equal = replace(shop, representation=Codes(codes[:5], codes, 64))
    groups = EqualCodes.of(codes, equal.tie_rank)
    assert len(groups.first) == 30
    assert sorted(np.bincount(groups.of_item)) == [10] * 30
    places = np.column_stack([np.arange(30.0) * 100, np.zeros(30)])
    laid = groups.spread(places, 1.0)
    np.testing.assert_array_equal(laid[groups.first], places)
    for code in range(30):
        rows = np.flatnonzero(groups.of_item == code)
        assert (codes[rows] == codes[rows[0]]).all()
        away = np.linalg.norm(laid[rows] - places[code], axis=1)
        order = np.argsort(equal.tie_rank[rows])
        np.testing.assert_allclose(away[order], np.sqrt(np.arange(10)), atol=1e-9)
    made, _ = with_map(equal)
    assert purity(xy(made), groups.of_item, k=9) > 0.97


def test_kept_neighbours_is_1_for_a_faithful_map_and_ties_count_alike() -> None:
    line = np.column_stack([np.arange(-100, 100), np.zeros(200)]).astype(np.int16)
    signs = np.where(np.arange(200)[None] <= np.arange(200)[:, None], 1, -1)
    codes = pack_signs(signs)  # the distance of i and j is |i - j|
    among = Codes(codes, codes, 200)
    assert kept_neighbours(among, line)[10] == pytest.approx(1.0, abs=0.01)
    mixed = line[np.random.default_rng(0).permutation(200)]
    assert kept_neighbours(among, mixed)[10] < 0.15
    same = np.zeros((200, 4), dtype=np.uint64)
    assert kept_neighbours(Codes(same, same, 200), mixed) == {10: 1.0, 50: 1.0}


def test_principal_plane_is_that_of_an_eigendecomposition() -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(500, 6)) * [5, 3, 1, 1, 0.5, 0.1]).astype(np.float32)
    found = principal_plane(Features(vectors))
    centred = vectors - vectors.mean(axis=0, dtype=np.float64)
    _values, axes = np.linalg.eigh(centred.T @ centred)
    for at in range(2):
        expected = centred @ axes[:, -1 - at]
        np.testing.assert_allclose(np.abs(found[:, at]), np.abs(expected), atol=1e-3)
        axis = np.linalg.lstsq(centred, found[:, at].astype(float), rcond=None)[0]
        assert axis[np.abs(axis).argmax()] > 0


def test_bits_of_a_slice_are_those_of_all() -> None:
    shop = planted_codes(50, bits=20)
    features = features_of(shop)
    every = features.rows(slice(None))
    assert every.shape == (50, 20)
    np.testing.assert_array_equal(pack_signs(every.astype(int)), shop.item_codes)
    np.testing.assert_array_equal(features.rows(slice(7, 9)), every[7:9])


def test_directions_of_weights_part_the_blocks() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(2)
    groups = np.arange(90) % 3
    weights = (rng.random((90, 90)) < np.where(groups[:, None] == groups, 0.5, 0.02)) * 1.0
    weights = weights.astype(np.float32)
    dense, sparse = weight_directions(weights), weight_directions(csr_array(weights))
    np.testing.assert_allclose(dense, sparse, atol=1e-3)
    plane = dense[:, :2]
    centres = np.array([plane[groups == g].mean(axis=0) for g in range(3)])
    nearest = np.square(plane[:, None] - centres[None]).sum(axis=2).argmin(axis=1)
    assert (nearest == groups).mean() > 0.97
    np.testing.assert_allclose(dense.T @ dense, np.eye(dense.shape[1]), atol=1e-4)


def test_weights_of_nothing_have_a_place() -> None:
    found = weight_directions(np.zeros((5, 5), dtype=np.float32))
    assert np.isfinite(found).all()


def test_whole_numbers_fill_the_range_and_keep_the_shape() -> None:
    rng = np.random.default_rng(4)
    places = rng.normal(size=(100, 2)) * [3, 1] + 50
    found = whole(places).astype(float)
    assert np.abs(found).max() == 32767
    ratio = np.ptp(found, axis=0) / np.ptp(places, axis=0)
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-3)
    assert not whole(np.ones((3, 2))).any()


@pytest.fixture(scope="module")
def shop() -> Recommender:
    return fitted("codes")


def test_a_map_comes_back_and_lists_stay(shop: Recommender, tmp_path: Path) -> None:
    made, about = with_map(shop)
    made.save(tmp_path / "m.xorec")
    loaded = Recommender.load(tmp_path / "m.xorec")
    np.testing.assert_array_equal(xy(loaded), xy(made))
    assert xy(loaded).dtype == np.int16
    assert (xy(made) < 0).any()
    assert loaded.metadata["map"] == about
    assert loaded.recommend(DATA.users[0]) == shop.recommend(DATA.users[0])
    made.save(tmp_path / "again.xorec")
    assert (tmp_path / "m.xorec").read_bytes() == (tmp_path / "again.xorec").read_bytes()
    stored = load_file(tmp_path / "m.xorec")["map.places"]
    np.testing.assert_array_equal(stored.view(np.int16), xy(made))


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
    assert len(after.item_ids) == len(made.item_ids) + 1
    np.testing.assert_array_equal(xy(after)[:-1], xy(made))
    assert after.metadata["map"] == {"layout": about["layout"], "seed": 0}
    new = after.item_codes[-1]
    distance = np.bitwise_count(after.item_codes[:-1] ^ new).sum(axis=1)
    assert xy(after)[-1].tolist() in xy(made)[distance == distance.min()].tolist()
    assert shop.update(_new_pairs()).map_xy is None


def _new_pairs() -> list[tuple[int, int]]:
    new = int(max(DATA.items)) + 1
    return [(user, new) for user in list(DATA.users)[:8]]


def test_who_forgets_users_keeps_the_map(shop: Recommender) -> None:
    made, _ = with_map(shop, "pca")
    fewer = without_users(made, [DATA.users[0]])
    np.testing.assert_array_equal(xy(fewer), xy(made))


def test_a_kept_index_is_not_made_anew(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec", index=True)
    loaded = Recommender.load(tmp_path / "m.xorec")
    assert with_map(loaded, "pca")[0].index is loaded.index
