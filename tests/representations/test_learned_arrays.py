"""Vectors and codes of models and recommenders as plain arrays, and in faiss."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from xorec.core.errors import MissingExtraError, NotFittedError, OptionError
from xorec.models.base import Model
from xorec.testing.data import planted

DATA = planted(60, 40)
QUICK = {"model": "siml", "epochs": 1}


def dsiml(**settings: object) -> xorec.DSIML:
    return xorec.DSIML(bits=16, epochs=1, start=QUICK, **settings).fit(DATA)


def test_vectors_of_a_model_and_of_its_recommender() -> None:
    model = xorec.BPR(dimensions=8, epochs=1).fit(DATA)
    shop = xorec.Recommender.from_model(model, DATA)
    for one in (model, shop):
        assert one.item_vectors.shape == (40, 8)
        assert one.user_vectors.shape == (60, 8)
        assert list(one.item_ids) == list(DATA.items)
        assert list(one.user_ids) == list(DATA.users)
        with pytest.raises(OptionError, match="no item_codes: it has user_vectors, item_vectors"):
            _ = one.item_codes


def test_codes_and_both() -> None:
    codes = dsiml()
    assert codes.item_codes.dtype == np.uint64
    assert codes.item_codes.shape == (40, 1)
    assert codes.user_codes.shape == (60, 1)
    both = dsiml(shortlist=5)
    assert both.item_codes.shape == (40, 1)
    assert both.item_vectors.shape[0] == 40
    assert both.user_vectors.dtype == np.float32


def test_models_without_arrays_say_so() -> None:
    with pytest.raises(OptionError, match="no item_vectors: it has neither vectors nor codes"):
        _ = xorec.Popularity().fit(DATA).item_vectors
    with pytest.raises(NotFittedError, match="call fit first"):
        _ = xorec.BPR().item_vectors
    with pytest.raises(NotFittedError, match="call fit first"):
        _ = xorec.BPR().item_ids


def test_numpy_has_everything_under_its_name(tmp_path: Path) -> None:
    model = xorec.BPR(dimensions=8, epochs=1).fit([("ann", "tea"), ("ann", "jam"), ("bob", "tea")])
    arrays: dict[str, Any] = model.to_numpy()
    np.savez(tmp_path / "model.npz", **arrays)
    with np.load(tmp_path / "model.npz", allow_pickle=True) as kept:
        assert set(kept) == {"user_ids", "item_ids", "user_vectors", "item_vectors"}
        assert kept["item_ids"].tolist() == ["jam", "tea"]
        np.testing.assert_array_equal(kept["item_vectors"], model.item_vectors)


def test_faiss_ranks_as_the_codes_do() -> None:
    model = dsiml()
    distances, rows = model.to_faiss().search(model.user_codes[:9].view(np.uint8), 3)
    scores = model.representation_.scores(np.arange(9))
    best = -np.sort(-scores, axis=1)[:, :3]
    np.testing.assert_allclose(1 - distances / 16, best)
    np.testing.assert_allclose(np.take_along_axis(scores, rows, axis=1), best)


@pytest.mark.parametrize("model", [xorec.BPR(dimensions=8, epochs=1), xorec.CML(epochs=1)])
def test_faiss_ranks_as_the_vectors_do(model: Model) -> None:  # type: ignore[type-arg]
    model.fit(DATA)
    _, rows = model.to_faiss().search(model.user_vectors[:9], 3)
    scores = model.representation_.scores(np.arange(9))
    best = -np.sort(-scores, axis=1)[:, :3]
    np.testing.assert_allclose(np.take_along_axis(scores, rows, axis=1), best, rtol=1e-5)


def test_faiss_that_is_not_there_or_cannot_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="faiss cannot rank as this model does"):
        xorec.ItemKNN().fit(DATA).to_faiss()
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'xorec\[faiss\]'"):
        dsiml().to_faiss()
