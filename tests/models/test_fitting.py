"""Validation finds the epochs; the last fit learns from all pairs; a killed one goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.models import model_class
from xorec.models.base import Model, checkpoints, fit_with_validation
from xorec.testing.data import halves, planted
from xorec.training.epochs import EpochTrainer

TRAIN, VALIDATION = halves(planted(120, 90))
SETTINGS: dict[str, dict[str, Any]] = {
    "bpr": {"epochs": 12, "validate_every": 1, "dimensions": 8, "patience": 2},
    "dsiml": {"epochs": 2, "bits": 16, "start": {"epochs": 6, "validate_every": 2}},
}


def same(one: Model[Any], other: Model[Any]) -> bool:
    ours, theirs = (model.representation_.tensors() for model in (one, other))
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_the_last_fit_is_a_plain_fit_on_all_pairs_with_the_epochs_that_were_best() -> None:
    options = RunOptions(seed=2)
    first = model_class("bpr")(**SETTINGS["bpr"])
    last = fit_with_validation(first, TRAIN, VALIDATION, options)
    chosen = first.epochs_
    assert chosen < 12, "or the test says little"
    assert last.config.epochs == chosen
    plain = model_class("bpr")(**{**SETTINGS["bpr"], "epochs": chosen})
    assert same(last, plain.fit(TRAIN.union(VALIDATION), None, options))


@pytest.mark.parametrize("name", ["item-knn", "popularity"])
def test_a_model_without_epochs_learns_from_all_pairs_at_once(name: str) -> None:
    last = fit_with_validation(model_class(name)(), TRAIN, VALIDATION)
    assert same(last, model_class(name)().fit(TRAIN.union(VALIDATION)))
    assert not same(last, model_class(name)().fit(TRAIN))
    assert same(
        fit_with_validation(model_class(name)(), TRAIN, None), model_class(name)().fit(TRAIN)
    )


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("die_in", [0, 1])
def test_a_fit_that_was_killed_in_any_stage_goes_on_and_ends_the_same(
    name: str, die_in: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """die_in: the stage, each with the loops over epochs of its start and of itself."""
    whole = fit_with_validation(model_class(name)(**SETTINGS[name]), TRAIN, VALIDATION)
    options = RunOptions(checkpoint=tmp_path / "m.checkpoint")
    ended: list[Any] = []
    run = EpochTrainer.run

    def dies_after(self: Any, *how: Any) -> Any:
        state = run(self, *how)
        ended.append(state)
        if len(ended) == (die_in + 1) * (2 if name == "dsiml" else 1):
            raise KeyboardInterrupt
        return state

    with monkeypatch.context() as patch:
        patch.setattr(EpochTrainer, "run", dies_after)
        with pytest.raises(KeyboardInterrupt):
            fit_with_validation(model_class(name)(**SETTINGS[name]), TRAIN, VALIDATION, options)
    model = model_class(name)(**SETTINGS[name])
    again = fit_with_validation(model, TRAIN, VALIDATION, replace(options, resume=True))
    assert again.config == whole.config
    assert same(again, whole)
    assert set(checkpoints(tmp_path / "m.checkpoint")) >= set(tmp_path.iterdir())
