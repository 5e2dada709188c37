"""Comparisons: fits as tasks are those in turn, what each model learns from, the usual models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import SIML
from xorec.selection.comparison import (
    EASE_ITEMS,
    Parts,
    compare_models,
    fitted,
    ladder,
    make_models,
)
from xorec.selection.model_specs import parse_spec
from xorec.selection.shared_work import vectors_learned_once
from xorec.testing.data import planted
from xorec.testing.engines import InProcess

PARTS = split(planted(80, 60), test=0.2, validation=0.2)
HERE = RunOptions(threads=1, seed=3)
ELSEWHERE = replace(HERE, engine=InProcess(2))


def test_all_that_was_learned_comes_back() -> None:
    models: list[Model[Any]] = [BPR(epochs=3), DSIML(bits=16, epochs=2, start={"epochs": 2})]
    parts = Parts(PARTS.train, PARTS.validation)
    one, other = (list(fitted(models, parts, options)) for options in (HERE, ELSEWHERE))
    for here, there in zip(one, other, strict=True):
        assert there.model.config == here.model.config
        assert there.model.refit_settings() == here.model.refit_settings()
        assert there.model.history_ == here.model.history_
        assert there.model.item_ids == here.model.item_ids
        assert there.seconds > 0
        mine, theirs = (fit.model.representation_.tensors() for fit in (here, there))
        assert mine.keys() == theirs.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_vectors_that_several_start_from_are_learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learned, learn = list[Any](), SIML._learn

    def counted(*arguments: Any) -> Any:
        learned.append(arguments)
        return learn(*arguments)

    monkeypatch.setattr(SIML, "_learn", counted)
    how: dict[str, Any] = {"settings": {"dsiml": {"start": {"epochs": 2, "dimensions": 16}}}}
    with vectors_learned_once(replace(ELSEWHERE, engine=InProcess(1))) as options:
        compare_models(
            replace(PARTS, validation=None),
            ["dsiml:epochs=1", "dsiml:epochs=2"],
            **how,
            bits=(16,),
            options=options,
        )
    assert len(learned) == 1


def test_a_fit_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise XorecError("bpr diverged in epoch 3")

    monkeypatch.setattr(BPR, "_learn", fails)
    with pytest.raises(XorecError, match="diverged in epoch 3"):
        compare_models(PARTS, ["bpr"], options=ELSEWHERE)


def test_a_contender_learns_from_validation_pairs_too_and_is_not_ranked_against_them() -> None:
    parts = split(planted(80, 60), test=0.2, validation=0.2)
    assert parts.validation is not None
    known = parts.train.union(parts.validation)
    (found,) = compare_models(parts, ["item-knn"], ks=(10,))
    plain = evaluate(ItemKNN().fit(known).representation_, known, parts.test, ks=(10,))
    assert found.evaluation.metrics == plain.metrics


def test_the_ladder_goes_from_few_bits_to_the_served_recipe() -> None:
    made = make_models([parse_spec(text) for text in ladder(1000)])
    names = [model.name for _, model in made]
    assert names == [
        *("popularity", "dsiml", "dsiml", "dsiml", "dsiml", "slim", "slim", "ease", "siml", "blend")
    ]
    assert [model.config.bits for _, model in made if model.name == "dsiml"] == [20, 32, 64, 64]
    assert [model.config.weight_dtype for _, model in made if model.name == "slim"] == [
        "int8",
        "float32",
    ]
    assert [model.config.shortlist for _, model in made if model.name == "dsiml"] == [0, 0, 0, 200]
    assert "ease" not in ladder(EASE_ITEMS + 1)
    assert ladder(10, bits=(16, 128))[1:3] == ("dsiml:bits=16", "dsiml:bits=128")
