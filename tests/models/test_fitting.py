"""Validation finds the epochs; the last fit learns from all pairs; a killed one goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.engine import LocalEngine
from xorec.core.options import RunOptions
from xorec.models import model_class
from xorec.models.base import Model, checkpoints, fit_with_validation
from xorec.models.factorization.bpr import BPR
from xorec.models.pretraining import pretrain
from xorec.models.siml.dsiml import DSIML
from xorec.testing.data import halves, planted
from xorec.training.epochs import Checkpoint, EpochTrainer, TrainingState

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


@pytest.mark.exhaustive
def test_who_learns_the_same_vectors_at_the_same_time_may_keep_them(tmp_path: Path) -> None:
    """Choices at several lengths start from the same vectors, and run side by side on an engine."""
    data, start = planted(60, 40), DSIML(start={"model": "als", "epochs": 1}).config.start
    for round_ in range(12):
        options = RunOptions(threads=1, cache=tmp_path / str(round_))
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: pretrain(start, data, None, options), range(8)))  # noqa: B023
        assert all(np.array_equal(one.user_vectors, made[0].user_vectors) for one in made)
        assert not list((tmp_path / str(round_)).glob(".*.tmp"))


class Elsewhere(LocalEngine):
    """An engine whose tasks run in other processes, as far as a fit can tell."""

    is_remote = True


class LostError(Exception):
    """An executor is gone."""


class Losing(Elsewhere):
    """Loses each task once, after four checkpoints, and runs it again as Spark would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(1)
        self.patch, self.starts = monkeypatch, list[int]()

    def map_blocks(self, function: Any, blocks: Any, shared: Any = (), /, **settings: Any) -> Any:
        saved, starts, save, load = 0, self.starts, Checkpoint.save, Checkpoint.load_into

        def dying(checkpoint: Checkpoint, state: TrainingState, *, now: bool = False) -> None:
            nonlocal saved
            save(checkpoint, state, now=True)
            saved += 1
            if saved == 4:
                raise LostError

        def loading(checkpoint: Checkpoint, state: TrainingState) -> bool:
            found = load(checkpoint, state)
            starts.append(state.epoch)
            return found

        self.patch.setattr(Checkpoint, "load_into", loading)
        with self.patch.context() as patch:
            patch.setattr(Checkpoint, "save", dying)
            with pytest.raises(LostError):
                list(super().map_blocks(function, blocks, shared, **settings))
        return super().map_blocks(function, blocks, shared, **settings)


def fitted(epochs: int, **options: Any) -> BPR:
    return BPR(epochs=epochs).fit(TRAIN, None, RunOptions(threads=1, **options))


def test_a_lost_task_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Losing(monkeypatch)
    found = fitted(6, engine=engine, checkpoint=tmp_path / "new" / "fit")
    assert engine.starts == [0, 4]
    assert same(found, fitted(6))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["fit"]


def test_a_checkpoint_that_executors_do_not_see_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xorec.models.base._sees", lambda path, token: False)
    fitted(2, engine=Elsewhere(1), checkpoint=tmp_path / "fit")
    assert list(tmp_path.iterdir()) == []


def test_an_older_checkpoint_is_taken_up_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "fit"
    fitted(3, seed=9, checkpoint=path)
    found = fitted(3, engine=Elsewhere(1), checkpoint=path)  # that of another seed is in its way
    assert same(found, fitted(3))
