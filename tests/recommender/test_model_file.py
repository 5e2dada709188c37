"""The index inside the model file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender import model_file
from xorec.recommender.recommender import Recommender
from xorec.search.hamming.index import HammingIndex
from xorec.testing.data import planted

DATA = planted(90, 60, per_user=12)


@pytest.fixture(scope="module")
def shop() -> Recommender:
    model = DSIML(bits=32, optimizer="none", start={"epochs": 3})
    return Recommender.from_model(model.fit(DATA, options=RunOptions(threads=1)), DATA)


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


def test_vectors_have_no_index_to_keep(tmp_path: Path) -> None:
    model = BPR(epochs=2).fit(DATA, options=RunOptions(threads=1))
    shop = Recommender.from_model(model, DATA)
    shop.save(tmp_path / "m.xorec", index=True)
    assert Recommender.load(tmp_path / "m.xorec").recommend(DATA.users[0], 5) == shop.recommend(
        DATA.users[0], 5
    )


def test_loaded_arrays_cannot_be_written_to(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec")
    with pytest.raises(ValueError, match="read-only"):
        Recommender.load(tmp_path / "m.xorec").tie_rank[0] = 1


def test_users_beside_users(shop: Recommender) -> None:
    codes = shop.representation.among_users()
    alike = shop.similar_users(DATA.users[7], 5)
    scores = codes.scores(np.array([7]))[0]
    rows = [DATA.users.find(one) for one in alike.ids()]
    assert 7 not in rows
    assert [one.score for one in alike.items] == [float(scores[row]) for row in rows]
    best = sorted((float(s) for row, s in enumerate(scores) if row != 7), reverse=True)[:5]
    assert [one.score for one in alike.items] == best


def test_a_choice_made_ready(shop: Recommender) -> None:
    some = [DATA.items[row] for row in range(0, 60, 2)]
    ready = shop.only(some)
    for user in DATA.users:
        assert shop.recommend(user, 5, allow=ready) == shop.recommend(user, 5, allow=some)
