from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import DataError, ModelFileError, OptionError
from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.evaluation.protocol import evaluate
from xorec.models import model_class
from xorec.models.base import DataUpdate, Model
from xorec.models.factorization.als import ALS
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.recommender.updating import without_users
from xorec.testing.data import halves, planted, weighted
from xorec.testing.examples import shop
from xorec.training import passes

Before = tuple[Recommender, Interactions, Interactions]
"""A recommender, what it has learned from, and the test part."""
SETTINGS = {"bits": 32, "epochs": 5, "start": {"epochs": 20}}


@pytest.fixture(scope="module")
def before() -> Before:
    train, test = halves(planted(200, 120))
    return Recommender.from_model(DSIML(**SETTINGS).fit(train), train), train, test


def test_known_rows_stay_and_new_ones_come_behind(before: Before) -> None:
    old, train, _ = before
    known = list(train.items)
    new = Interactions.from_pairs([(10_000, known[3]), (10_000, known[5]), (0, 77_777)])
    grown = old.update(new)
    assert list(grown.user_ids) == [*old.user_ids, 10_000]
    assert list(grown.item_ids) == [*old.item_ids, 77_777]
    assert grown.metadata["data"]["pairs"] == train.n_pairs + 3
    assert grown.metadata["updates"] == 1
    assert grown.update(Interactions.from_pairs([(1, 77_777)])).metadata["updates"] == 2
    touched = np.ones(200, dtype=np.bool_)
    touched[0] = False  # the only old user who got a pair
    codes = grown.representation.tensors()
    np.testing.assert_array_equal(
        codes["user_codes"][:200][touched], old.representation.tensors()["user_codes"][touched]
    )
    np.testing.assert_array_equal(
        codes["item_codes"][:120], old.representation.tensors()["item_codes"]
    )
    assert not {known[3], known[5]} & set(grown.recommend(10_000, 20).ids())
    assert 77_777 not in grown.recommend(0, 120).ids()


def test_a_new_user_is_served_as_if_folded_in(before: Before) -> None:
    old, train, _ = before
    history = [train.items[int(i)] for i in train.of_user(4)]
    grown = old.update(Interactions.from_pairs([(55_555, item) for item in history]))
    assert grown.recommend(55_555, 10).ids() == old.recommend_for(history, 10).ids()


def test_users_that_come_late_are_served_nearly_as_by_a_full_fit(before: Before) -> None:
    """Half of the users are unknown at first; the update brings them near the full fit."""
    _, train, test = before
    first = train.select(train.user_rows < 100).compact()
    late = train.select(train.user_rows >= 100).compact()
    grown = Recommender.from_model(DSIML(**SETTINGS).fit(first), first).update(late)
    rows = np.argsort([int(user) for user in grown.user_ids])
    columns = np.argsort([int(item) for item in grown.item_ids])
    full = evaluate(DSIML(**SETTINGS).fit(train).representation_, train, test, ks=(10,))
    codes = grown.representation

    class Reordered:
        n_users, n_items = train.n_users, train.n_items

        def scores(self, users: np.ndarray) -> np.ndarray:
            return codes.scores(rows[users])[:, columns]

    updated = evaluate(Reordered(), train, test, ks=(10,))
    assert updated["ndcg@10"] > 0.85 * full["ndcg@10"]


def named_shop(seed: int = 0) -> Recommender:
    """Text ids and names: tea has two users, milk and rye one each."""
    pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "rye")]
    data = Interactions.from_pairs(pairs)
    names = {"tea": "Green tea", "milk": "Oat milk", "rye": "Rye bread"}
    data = replace(data, names=Text.pack([names[item] for item in data.items]))
    return Recommender.from_model(ALS(dimensions=4, epochs=2).fit(data), data, seed=seed)


def test_text_ids_and_names_of_all_items_are_right(tmp_path: Path) -> None:
    """New ids in an order of their own, between known ones; one of the new items has no name."""
    new = Interactions.from_pairs([("zoe", "yam"), ("cy", "tea"), ("cy", "fig"), ("ann", "kiwi")])
    labels = {"yam": "Yam root", "tea": "another name", "fig": "Dried figs", "kiwi": "Kiwi"}
    for names in (Text.pack([labels[item] for item in new.items]), None):
        grown = named_shop().update(replace(new, names=names))
        grown.save(tmp_path / "m.xorec")
        shop = Recommender.load(tmp_path / "m.xorec")
        assert set(shop.user_ids) == {"ann", "bob", "cy", "zoe"}
        assert list(shop.user_ids)[:2] == ["ann", "bob"]
        assert list(shop.item_ids)[:3] == list(named_shop().item_ids)
        own = {
            user: set(shop.item_ids.take(shop.items_of(shop.user_row(user))))
            for user in shop.user_ids
        }
        assert own == {
            "ann": {"tea", "milk", "kiwi"},
            "bob": {"tea", "rye"},
            "cy": {"tea", "fig"},
            "zoe": {"yam"},
        }
        known = {"tea": "Green tea", "milk": "Oat milk", "rye": "Rye bread"}
        fresh = labels if names is not None else {item: item for item in labels}
        listed = {one.id: one.name for one in shop.recommend("zoe", 9, seen=True).items}
        assert listed == {**fresh, **known}


def test_an_item_is_made_anew_where_more_than_half_of_its_pairs_are_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exactly doubled, it stays: tea 2 + 2, milk 1 + 1, rye 1 + 2, and fig is new."""
    updates: list[DataUpdate] = []
    solve = ALS._update

    def spy(self: ALS, before: Any, update: DataUpdate) -> Any:
        updates.append(update)
        return solve(self, before, update)

    monkeypatch.setattr(ALS, "_update", spy)
    pairs = [("cy", "tea"), ("dee", "tea"), ("cy", "milk"), ("cy", "rye"), ("dee", "rye")]
    grown = named_shop(seed=5).update(Interactions.from_pairs([*pairs, ("ann", "fig")]))
    (update,) = updates
    assert set(grown.item_ids.take(update.items)) == {"rye", "fig"}
    assert set(grown.user_ids.take(update.users)) == {"ann", "cy", "dee"}
    assert update.known.tolist() == [2, 2, 0, 0]
    assert grown.metadata["seed"] == 5


def test_the_same_update_gives_the_same_file(before: Before, tmp_path: Path) -> None:
    old, _, test = before
    new = test.select(np.arange(test.n_pairs) < 100)
    for name in ("a", "b"):
        old.update(new).save(tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("a", "b"))
    assert one == two


def test_what_cannot_be_updated_says_so(before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    old, train, _ = before
    with pytest.raises(DataError, match="item ids of the update are str, those of the model int64"):
        old.update(Interactions.from_pairs([(1, "shoe")]))
    model = BPR(dimensions=8, epochs=1).fit(train)
    monkeypatch.setattr(BPR, "_update", Model._update)  # a model that has none of its own
    other = Recommender.from_model(model, train)
    with pytest.raises(OptionError, match="bpr cannot be updated: fit it again"):
        other.update(Interactions.from_pairs([(1, 2)]))


def test_a_file_that_names_other_dimensions_than_it_has_is_refused() -> None:
    data = planted(40, 30)
    shop = Recommender.from_model(BPR(dimensions=4, epochs=1).fit(data), data)
    config = {**shop.metadata["config"], "dimensions": 7}
    altered = replace(shop, metadata={**shop.metadata, "config": config})
    with pytest.raises(ModelFileError, match="4 dimensions and not 7"):
        altered.update(Interactions.from_pairs([(1, 1002), (99, 1003)]))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", ["popularity", "item-knn", "ease"])
def test_models_of_counts_are_updated_to_what_a_fit_of_all_gives(name: str, weights: bool) -> None:
    data = planted(60, 40)
    late = np.random.default_rng(0).random(data.n_pairs) < 0.2
    if weights:  # those of the fit are kept; new pairs have 1
        data = weighted(data)
        assert data.weights is not None
        data = replace(data, weights=np.where(late, np.float32(1), data.weights))
    model = model_class(name)
    shop = Recommender.from_model(model().fit(data.select(~late)), data.select(~late))
    updated = shop.update(data.select(late)).representation.tensors()
    for tensor, whole in model().fit(data).representation_.tensors().items():
        np.testing.assert_allclose(updated[tensor], whole, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", ["bpr", "siml", "cml", "lightgcn"])
def test_late_rows_alone_move_for_any_number_of_threads(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "SHARE", 64)  # so few pairs would not be shared
    train, _ = halves(planted(80, 60))
    new = Interactions.from_pairs([(3, 1002), (3, 1007), (99, 1002), (4, 5000), (5, 5000)])
    model = model_class(name)(dimensions=8, epochs=2).fit(train)
    shop = Recommender.from_model(model, train)
    one, three = (replace(shop, threads=count).update(new) for count in (1, 3))
    before, after = shop.representation.tensors(), one.representation.tensors()
    for tensor, values in three.representation.tensors().items():
        np.testing.assert_array_equal(values, after[tensor])
    moved = [
        np.flatnonzero((after[f"{kind}_vectors"][:count] != before[f"{kind}_vectors"]).any(axis=1))
        for kind, count in (("user", 80), ("item", 60))
    ]
    assert moved[0].tolist() == [3, 4, 5]
    assert moved[1].tolist() == []


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
