from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.model_files import rewrite
from xorec.core.errors import ModelFileError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.baselines.popularity import Popularity
from xorec.models.siml.dsiml import DSIML
from xorec.recommender import storage
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes
from xorec.testing.data import checkerboard, planted


@pytest.fixture(scope="module")
def board() -> Recommender:
    data = checkerboard()
    return Recommender.from_model(ItemKNN().fit(data), data)


def test_lists_are_ranked_by_score_then_tie_rule(board: Recommender) -> None:
    user = board.user_ids.find("u08")
    scores = board.representation.scores(np.array([user]))[0]
    best = board.recommend("u08", 50, seen=True)
    rows = [board.item_ids.find(one) for one in best.ids()]
    assert rows == sorted(range(50), key=lambda row: (-scores[row], board.tie_rank[row]))
    assert [one.score for one in best.items] == [scores[row] for row in rows]


def test_allow_and_deny(board: Recommender) -> None:
    assert board.recommend("u08", 9, allow=["i03", "i08", "i04"]).ids() == ["i08", "i03"]
    assert board.recommend("u08", 9, allow=[]).ids() == []
    assert "i08" not in board.recommend("u08", 50, deny=["i08"]).ids()


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


def test_of_users_alike_those_with_more_items_come_first() -> None:
    """All codes are equal, so the tie rule alone orders them: by items, not by row."""
    own = {"ann": "x", "bob": "xyz", "cy": "xy", "dee": "z"}
    data = Interactions.from_pairs([(user, item) for user, items in own.items() for item in items])
    model = Popularity().fit(data)
    shop = Recommender.from_model(model, data)
    codes = Codes.from_signs(np.ones((4, 8)), np.ones((3, 8)))
    assert replace(shop, representation=codes).similar_users("dee").ids()[:2] == ["bob", "cy"]


def test_the_tie_rule_is_that_of_evaluation() -> None:
    data = planted(60, 40)
    shop = Recommender.from_model(Popularity().fit(data), data)
    np.testing.assert_array_equal(shop.tie_rank, tie_rank(data.items, data.item_counts))
    np.testing.assert_array_equal(shop.item_counts, data.item_counts)
