"""Categories of items: kept in the model file, checked when it is opened, and asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from tests.support.model_files import rewrite
from xorec.core.errors import ModelFileError, OptionError
from xorec.recommender import batch, storage
from xorec.recommender.recommender import Recommender
from xorec.testing.examples import categories_of

from .conftest import DATA, QUICK, fitted

ITEMS = 60
LABELS = [
    [label for label, n in (("two", 2), ("three", 3), ("five", 5)) if not row % n]
    for row in range(ITEMS)
]
WHOLE_SHORTLIST = xorec.DSIML(**QUICK, shortlist=ITEMS)


@pytest.fixture(scope="module", params=["codes", "shortlist", "vectors", "neighbours"])
def shop(request: pytest.FixtureRequest) -> Recommender:
    found = fitted(request.param)
    if request.param == "shortlist":  # its lists are the full ranking
        found = Recommender.from_model(WHOLE_SHORTLIST.fit(DATA), DATA)
    return replace(found, categories=categories_of(LABELS))


@pytest.fixture(scope="module")
def knn() -> Recommender:
    data = replace(DATA, categories=categories_of(LABELS))
    return Recommender.from_model(xorec.ItemKNN().fit(data), data)


def labels_of(shop: Recommender) -> list[list[str]]:
    assert shop.categories is not None
    return [shop.categories.of(row) for row in range(len(shop.item_ids))]


CHOICES: list[tuple[dict[str, Any], Callable[[int], bool]]] = [
    ({"category": "three"}, lambda row: row % 3 == 0),
    ({"category": ["three", "five"]}, lambda row: row % 3 == 0 or row % 5 == 0),
    ({"not_in": "two"}, lambda row: row % 2 != 0),
    (
        {"category": "three", "not_in": ["two", "five"]},
        lambda row: row % 3 == 0 and bool(row % 2 and row % 5),
    ),
    ({"category": "three", "not_in": "three"}, lambda row: False),
    ({"category": []}, lambda row: False),
    ({"category": "three", "allow": range(1000, 1020)}, lambda row: row % 3 == 0 and row < 20),
]


@pytest.mark.parametrize(("choice", "is_in"), CHOICES)
def test_lists_are_the_full_ranking_without_the_others(
    shop: Recommender, choice: dict[str, Any], is_in: Callable[[int], bool]
) -> None:
    chosen = shop.in_category(**choice)
    wanted = {item for row, item in enumerate(shop.item_ids) if is_in(row)}
    assert len(chosen) == len(wanted)
    users, denied = shop.user_ids.take(range(9)), [shop.item_ids[6], shop.item_ids[9]]
    lists = shop.recommend(users, 7, allow=chosen, deny=denied)
    for user, found in zip(users, lists, strict=True):
        everything = shop.recommend(user, ITEMS).ids()
        brute = [item for item in everything if item in wanted and item not in denied][:7]
        assert found.ids() == brute
        assert shop.recommend(user, 7, allow=chosen, deny=denied).ids() == brute
    history = shop.item_ids.take([1, 2])
    brute = [item for item in shop.recommend_for(history, ITEMS).ids() if item in wanted][:7]
    assert shop.recommend_for(history, 7, allow=chosen).ids() == brute


def test_lists_of_everybody_in_a_category(shop: Recommender) -> None:
    chosen, denied = shop.in_category("three", not_in="five"), [shop.item_ids[6]]
    job = batch.for_all_users(shop, 6, allow=chosen, deny=denied)
    ((rows, hits),) = job.blocks()
    assert len(rows) == 90
    for row in (0, 44, 89):
        best = shop.recommend(shop.user_ids[row], 6, allow=chosen, deny=denied).ids()
        assert best
        assert shop.item_ids.take(hits.items[row, : hits.counts[row]].tolist()) == best


def test_the_file_keeps_them(knn: Recommender, tmp_path: Path) -> None:
    knn.save(tmp_path / "a.xorec")
    loaded = Recommender.load(tmp_path / "a.xorec")
    assert labels_of(loaded) == [sorted(some) for some in LABELS]
    assert loaded.categories is not None
    for array in (
        loaded.categories.labels.data,
        loaded.categories.indptr,
        loaded.categories.indices,
    ):
        assert not array.flags.owndata  # mapped, not read
    user, three = loaded.user_ids[0], loaded.in_category("three")
    assert loaded.recommend(user, allow=three) == knn.recommend(
        user, allow=knn.in_category("three")
    )
    loaded.save(tmp_path / "b.xorec")
    assert (tmp_path / "a.xorec").read_bytes() == (tmp_path / "b.xorec").read_bytes()


def test_data_without_them_have_no_more_tensors_than_before(tmp_path: Path) -> None:
    plain = fitted("neighbours")
    plain.save(tmp_path / "m.xorec")
    with storage.opened(tmp_path / "m.xorec") as file:
        assert not [name for name in file.tensors if "categories" in name]
    assert Recommender.load(tmp_path / "m.xorec").categories is None
    with pytest.raises(
        OptionError, match=r"the model has no categories of items: fit it on .*--item-info"
    ):
        plain.in_category("three")


def last_set(to: int) -> Callable[[Any], Any]:
    return lambda array: np.append(array[:-1], array.dtype.type(to))


ALTERED: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "too large": ("indices", last_set(3), "indices has the value 3 but 0 to 2 are possible"),
    "negative": ("indices", last_set(-1), "indices has the value -1 but 0 to 2"),
    "other type": ("indices", lambda array: array.astype(np.int64), "indices is int64"),
    "beyond the end": ("indptr", last_set(10**9), "indptr does not rise from 0 to"),
    "falls": ("indptr", lambda array: array[[0, 9, 1, *range(3, len(array))]], "does not rise"),
    "of fewer items": ("indptr", lambda array: array[1:], "60 should be 61"),
    "labels beyond the end": ("labels.offsets", last_set(999), "does not rise from 0 to"),
    "fewer labels": (
        "labels.offsets",
        lambda array: array[[0, 1, 3]],
        "has the value 2 but 0 to 1",
    ),
}


@pytest.mark.parametrize("case", ALTERED)
@pytest.mark.parametrize("verify", [None, False])
def test_altered_tensors_are_refused(
    knn: Recommender, tmp_path: Path, case: str, verify: bool | None
) -> None:
    name, change, message = ALTERED[case]
    knn.save(tmp_path / "m.xorec")
    tensor = f"item_categories.{name}"
    wrong = change(np.array(storage.read(tmp_path / "m.xorec")[0][tensor]))
    for other, said in ((wrong, message), (None, f"{tensor} is missing")):
        rewrite(tmp_path / "m.xorec", {tensor: other}, tmp_path / "n.xorec")
        with pytest.raises(ModelFileError, match=said):
            Recommender.load(tmp_path / "n.xorec", verify=verify)


def test_new_items_bring_theirs_by_an_update(knn: Recommender, tmp_path: Path) -> None:
    """Known items keep what they have; new labels come behind the known ones."""
    known = knn.item_ids[7]
    pairs = xorec.read([(5, known), (5, 3000), (6, 2000), (6, 2500)])
    told = {known: ["new"], 2000: ["three", "new"], 2500: [], 3000: ["five"]}
    new = replace(pairs, categories=categories_of([told[item] for item in pairs.items]))
    grown = knn.update(new)
    assert labels_of(grown) == [*labels_of(knn), ["new", "three"], [], ["five"]]
    assert len(grown.in_category("new")) == 1
    without = knn.update(pairs)
    assert labels_of(without) == [*labels_of(knn), [], [], []]
    for one in (grown, without):
        one.save(tmp_path / "m.xorec")
        assert labels_of(Recommender.load(tmp_path / "m.xorec")) == labels_of(one)


def test_an_unknown_category_is_named_with_what_was_meant(knn: Recommender) -> None:
    message = r"no category 'Thre'\. Did you mean 'three'\? There are: five, three, two\."
    with pytest.raises(OptionError, match=message):
        knn.in_category("Thre")
    with pytest.raises(OptionError, match="no category 'four'"):
        knn.in_category("two", not_in=["three", "four"])
