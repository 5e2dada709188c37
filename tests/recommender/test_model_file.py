"""The model file: what it says of the model, its index, and what is checked when it is opened."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.model_files import rewrite
from xorec.core.errors import ModelFileError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.models.siml.dsiml import DSIML
from xorec.recommender import model_file, storage
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.search.hamming.index import HammingIndex
from xorec.testing.data import planted

from .conftest import DATA, fitted


@pytest.fixture(scope="module")
def shop() -> Recommender:
    return fitted("codes")


def test_the_index_is_kept_and_read_back(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "with.xorec", index=True)
    shop.save(tmp_path / "without.xorec", index=False)
    kept, made = (Recommender.load(tmp_path / f"{name}.xorec") for name in ("with", "without"))
    assert "index" in vars(kept)
    assert "index" not in vars(made)
    assert isinstance(kept.index, HammingIndex)
    assert "as saved with the model" in kept.index.explain()
    for user in DATA.users:
        assert kept.recommend(user, 9) == made.recommend(user, 9) == shop.recommend(user, 9)
    assert kept.similar(DATA.items[3], 4) == shop.similar(DATA.items[3], 4)


def test_many_items_keep_their_index(
    shop: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.save(tmp_path / "few.xorec")
    assert "index" not in vars(Recommender.load(tmp_path / "few.xorec"))
    monkeypatch.setattr(model_file, "INDEX_FROM", 60)
    shop.save(tmp_path / "many.xorec")
    assert "index" in vars(Recommender.load(tmp_path / "many.xorec"))


def test_users_beside_users(shop: Recommender) -> None:
    codes = shop.representation.among_users()
    alike = shop.similar_users(DATA.users[7], 5)
    scores = codes.scores(np.array([7]))[0]
    rows = [DATA.users.find(one) for one in alike.ids()]
    assert 7 not in rows
    assert [one.score for one in alike.items] == [float(scores[row]) for row in rows]
    best = sorted((float(s) for row, s in enumerate(scores) if row != 7), reverse=True)[:5]
    assert [one.score for one in alike.items] == best


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {"prior": t["prior"][1:]}, r"prior has the shape \(59,\): 59 should be 60"),
        (lambda t: {"tie_rank": t["tie_rank"].astype(np.int64)}, "tie_rank is int64"),
        (lambda t: {"tie_rank": t["tie_rank"] + 1}, "tie_rank has the value 60 but 0 to 59"),
        (lambda t: {"tie_rank": 0 * t["tie_rank"]}, "tie_rank is not a permutation"),
        (lambda t: {"seen.items": t["seen.items"] + 30}, r"seen.items has the value \d+ but"),
        (lambda t: {"seen.items": t["seen.items"] - 30}, r"seen.items has the value -\d+ but"),
        (lambda t: {"seen.items": t["seen.items"][:-1]}, "indptr does not rise from 0 to 1079"),
        (lambda t: {"seen.indptr": t["seen.indptr"][1:]}, r"seen.indptr has the shape \(90,\)"),
        (lambda t: {"seen.indptr": t["seen.indptr"][::-1]}, "does not rise from 0 to 1080"),
        (lambda t: {"seen.indptr": swapped(t["seen.indptr"])}, "does not rise from 0 to 1080"),
        (lambda t: {"user_ids": t["user_ids"][1:]}, "90 should be 89"),
    ],
)
def test_a_file_that_was_written_wrong_is_refused(
    shop: Recommender, tmp_path: Path, change: Any, message: str
) -> None:
    """With a right digest, so that nothing but the values is wrong."""
    shop.save(tmp_path / "m.xorec", index=False)
    tensors, _ = storage.read(tmp_path / "m.xorec")
    wrong = change({name: np.array(array) for name, array in tensors.items()})
    rewrite(tmp_path / "m.xorec", wrong, tmp_path / "wrong.xorec")
    for verify in (None, True, False):
        with pytest.raises(ModelFileError, match=message):
            Recommender.load(tmp_path / "wrong.xorec", verify=verify)


def swapped(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    offsets[[3, 4]] = offsets[[4, 3]]
    return offsets


def with_bits(bits: int) -> Recommender:
    model = DSIML(bits=bits, optimizer="none", start={"epochs": 1})
    return Recommender.from_model(model.fit(DATA, options=RunOptions(threads=1)), DATA)


@pytest.mark.parametrize(("bits", "each"), [(20, 3), (32, 4), (64, 8), (70, 9)])
def test_a_code_takes_the_bytes_of_its_bits(bits: int, each: int, tmp_path: Path) -> None:
    shop = with_bits(bits)
    shop.save(tmp_path / "m.xorec", index=True)
    tensors, _ = storage.read(tmp_path / "m.xorec")
    again = Recommender.load(tmp_path / "m.xorec")
    for side, rows in (("user", 90), ("item", 60)):
        assert tensors[f"representation.{side}_codes"].nbytes == each * rows
        found, expected = (getattr(one, f"{side}_codes") for one in (again, shop))
        np.testing.assert_array_equal(found, expected)
    assert again.representation.nbytes == shop.representation.nbytes == each * 150 + 8
    assert again.metadata["codes"] == again.representation.metadata()["codes"]


def test_an_index_from_a_file_keeps_bytes(tmp_path: Path) -> None:
    """Words are made when a search goes through lists or ranks everything, not before."""
    shop = with_bits(20)
    shop.save(tmp_path / "m.xorec", index=True)
    again = Recommender.load(tmp_path / "m.xorec")
    assert isinstance(shop.index, HammingIndex)
    assert isinstance(again.index, HammingIndex)
    assert again.recommend_many(DATA.users, 9) == shop.recommend_many(DATA.users, 9)
    assert "words" not in vars(again.index.catalogue.rows)
    assert shop.index.nbytes - again.index.nbytes == 5 * 60
    queries = shop.representation.queries(np.arange(90))
    for allow in (np.arange(0, 60, 7), (np.arange(91) * 60, np.tile(np.arange(60), 90))):
        found = again.index.search(queries, 60, allow=allow)
        np.testing.assert_array_equal(
            found.items, shop.index.search(queries, 60, allow=allow).items
        )
    assert again.index.nbytes - shop.index.nbytes == 3 * 60  # now both are kept, and it says so
    assert again.explain(DATA.users[0], DATA.items[3]) == shop.explain(DATA.users[0], DATA.items[3])


def test_offsets_are_kept_and_checked(tmp_path: Path) -> None:
    plain = with_bits(20)
    offsets = np.arange(60) % 11
    codes = Codes(plain.user_codes, plain.item_codes, 20, item_offsets=offsets)
    shop = replace(plain, representation=codes)
    index = HammingIndex(shop.item_codes, 20, shop.tie_rank, offsets=offsets, method="mih")
    for kept in (shop.index.tensors(), index.tensors()):
        model_file.save(tmp_path / "m.xorec", shop, kept)
        again = Recommender.load(tmp_path / "m.xorec")
        assert again.recommend_many(DATA.users, 9) == shop.recommend_many(DATA.users, 9)
        assert again.similar(DATA.items[3], 4) == plain.similar(DATA.items[3], 4)
    assert shop.recommend_many(DATA.users, 9) != plain.recommend_many(DATA.users, 9)
    for wrong, message in (
        (np.full(60, 16), "item_offsets has the"),
        (offsets[:7], "item_offsets has the"),
        (offsets[::-1], "does not have the items' offsets"),
    ):
        changed = {"representation.item_offsets": wrong.astype(np.uint8)}
        rewrite(tmp_path / "m.xorec", changed, tmp_path / "wrong.xorec")
        with pytest.raises(ModelFileError, match=message):
            Recommender.load(tmp_path / "wrong.xorec", verify=False)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("interval", ["a", "b", "c"]),
        ("interval", [0.1]),
        ("interval", None),
        ("value", "0.5"),
        ("value", True),
        ("users", -1),
        ("metric", ""),
        ("judged_on", 7),
    ],
)
def test_figures_of_validation_are_checked(tmp_path: Path, name: str, wrong: Any) -> None:
    figures = {"metric": "ndcg@10", "value": 0.5, "interval": [], "users": 3, "judged_on": ""}
    shop = with_bits(20)
    storage_path = tmp_path / "m.xorec"
    replace(shop, metadata={**shop.metadata, "validation": figures}).save(storage_path)
    assert Recommender.load(storage_path).metadata["validation"] == figures
    figures = {**figures, name: wrong}
    replace(shop, metadata={**shop.metadata, "validation": figures}).save(storage_path)
    with pytest.raises(ModelFileError, match=rf"validation\.{name} cannot be"):
        Recommender.load(storage_path)


def test_tables_of_short_words_are_kept_and_read_back(tmp_path: Path) -> None:
    shop = with_bits(20)
    index = HammingIndex(shop.item_codes, 20, shop.tie_rank, method="mih")
    model_file.save(tmp_path / "m.xorec", shop, index.tensors())
    again = Recommender.load(tmp_path / "m.xorec")
    assert storage.read(tmp_path / "m.xorec")[0]["index.copies"].dtype == np.uint32
    assert again.recommend_many(DATA.users, 9) == shop.recommend_many(DATA.users, 9)


@pytest.mark.parametrize("side", ["user", "item"])
def test_bits_behind_the_last_are_refused(side: str, tmp_path: Path) -> None:
    with_bits(20).save(tmp_path / "m.xorec")
    name = f"representation.{side}_codes"
    wrong = storage.read(tmp_path / "m.xorec")[0][name].copy()
    wrong[7, 2] |= 0x10
    for other, message in (
        (wrong, f"the {side} codes have bits behind the last of 20"),
        (wrong[:, :2], "is not a xorec model, or is corrupt"),
    ):
        rewrite(tmp_path / "m.xorec", {name: other}, tmp_path / "wrong.xorec")
        with pytest.raises(ModelFileError, match=message):
            Recommender.load(tmp_path / "wrong.xorec", verify=False)


def test_a_file_without_its_index(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec", index=True)
    bare = Recommender.load(tmp_path / "m.xorec", index=False)
    assert "index" not in vars(bare)
    user = DATA.users[3]
    assert bare.recommend(user, 5) == shop.recommend(user, 5)


def test_facts_tell_where_the_model_comes_from(tmp_path: Path) -> None:
    data = planted(40, 30)
    Recommender.from_model(ItemKNN(neighbours=7).fit(data), data, seed=5).save(tmp_path / "m")
    metadata = Recommender.load(tmp_path / "m").metadata
    assert metadata["model"] == "item-knn"
    assert metadata["config"] == {"neighbours": 7, "shrink": 0.0}
    assert metadata["seed"] == 5
    assert metadata["data"]["digest"] == data.digest()


def test_files_with_equal_codes_say_so_for_any_number_of_threads(tmp_path: Path) -> None:
    data = planted(60, 40)
    found = []
    for seed, threads in ((1, 1), (1, 2), (2, 1)):
        model = DSIML(bits=16, epochs=2, start={"epochs": 3})
        model.fit(data, options=RunOptions(seed=seed, threads=threads))
        Recommender.from_model(model, data, seed=seed).save(tmp_path / "m")
        found.append(Recommender.load(tmp_path / "m").metadata["codes"])
        assert found[-1] == model.representation_.metadata()["codes"]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert [one["bits"] for one in found] == [16, 16, 16]
    floats = Recommender.from_model(ItemKNN().fit(data), data)
    assert "codes" not in floats.metadata


def test_a_file_without_a_tensor_is_refused(tmp_path: Path) -> None:
    data = planted(40, 30)
    Recommender.from_model(Popularity().fit(data), data).save(tmp_path / "m")
    for name in storage.read(tmp_path / "m")[0]:
        rewrite(tmp_path / "m", {name: None}, tmp_path / "less")
        with pytest.raises(ModelFileError, match="is missing"):
            Recommender.load(tmp_path / "less")


def test_indexes_are_made_on_the_threads_that_a_recommender_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> int:
        raise AssertionError("the machine was asked for its cores")

    data = planted(60, 40)
    model = DSIML(bits=16, epochs=1, start={"epochs": 1}).fit(data)
    Recommender.from_model(model, data).save(tmp_path / "m.xorec")
    shop = Recommender.load(tmp_path / "m.xorec", threads=1)
    for name, module in list(sys.modules.items()):
        if name.startswith("xorec.") and hasattr(module, "available_threads"):
            monkeypatch.setattr(module, "available_threads", ask)
    assert len(shop.recommend(data.users[0]))
    assert len(shop.similar(data.items[0]))
    assert len(shop.similar_users(data.users[0]))
    assert shop.update(Interactions.from_pairs([(data.users[0], data.items[5])])).threads == 1
