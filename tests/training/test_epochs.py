"""The loop over epochs, with a learner whose validation is planted: what stops, wins, is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.testing.data import halves, planted
from xorec.training.config import EpochConfig
from xorec.training.epochs import EpochTrainer, TrainingState, validation_sample

TRAIN, VALIDATION = halves(planted(40, 30))
EACH = {"validate_every": 1}


class Learner:
    name: ClassVar[str] = "learner"

    def __init__(self, **settings: Any) -> None:
        self.config = EpochConfig(**settings)
        self.history_: list[dict[str, float]] = []
        self.epochs_ = 0


class Run:
    """A fit whose array counts the epochs; the n-th epoch has the n-th value on validation."""

    def __init__(self, curve: Sequence[float], options: RunOptions | None = None) -> None:
        self.curve, self.options = curve, options or RunOptions()
        self.trained: list[int] = []
        self.die_in = 0

    def fit(
        self, learner: Learner, train: Any = TRAIN, validation: Any = VALIDATION
    ) -> TrainingState:
        def step(epoch: int, arrays: Any) -> dict[str, float]:
            if epoch + 1 == self.die_in:
                raise KeyboardInterrupt
            self.trained.append(epoch + 1)
            arrays["epochs"] += 1
            return {"loss": 1.0 / (epoch + 1)}

        def judge(epochs: int, *_: Any, **__: Any) -> Any:
            return {"ndcg@20": self.curve[epochs - 1]}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("xorec.evaluation.protocol.evaluate", judge)
            trainer = EpochTrainer(learner, train, validation, self.options)
            start = {"epochs": np.zeros(1, dtype=np.int64)}
            return trainer.run(start, step, lambda arrays: int(arrays["epochs"][0]))  # type: ignore[arg-type, return-value]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunOptions:
    """With a checkpoint that is written after every epoch: writing takes no time."""
    clock = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr("xorec.training.epochs.time", clock)
    return RunOptions(seed=3, checkpoint=tmp_path / "run.checkpoint")


def test_the_first_of_equal_epochs_wins_and_patience_counts_validations() -> None:
    learner = Learner(epochs=9, patience=2, **EACH)
    run = Run([0.1, 0.3, 0.3, 0.2, 0.9, 0.9, 0.9, 0.9, 0.9])
    state = run.fit(learner)
    assert run.trained == [1, 2, 3, 4]
    assert (learner.epochs_, int(state.arrays["epochs"][0])) == (2, 2)
    assert [row["validation_ndcg@20"] for row in learner.history_] == [0.1, 0.3, 0.3, 0.2]
    assert [row["epoch"] for row in learner.history_] == [1, 2, 3, 4]


def test_it_is_validated_every_so_often_and_after_the_last_epoch() -> None:
    learner = Learner(epochs=7, patience=2, validate_every=3)
    state = Run([0.9, 0.9, 0.2, 0.9, 0.9, 0.1, 0.5]).fit(learner)
    found = [row["epoch"] for row in learner.history_ if "validation_ndcg@20" in row]
    assert found == [3, 6, 7]
    assert (learner.epochs_, int(state.arrays["epochs"][0])) == (7, 7)
    learner, run = Learner(epochs=20, patience=2, validate_every=3), Run([0.5] * 20)
    run.fit(learner)
    assert (run.trained[-1], learner.epochs_) == (9, 3)
    learner = Learner(epochs=5)
    state = Run([0.0] * 5).fit(learner, validation=None)
    assert (learner.epochs_, int(state.arrays["epochs"][0])) == (5, 5)
    assert learner.history_[-1] == {"epoch": 5, "loss": 0.2}


@pytest.mark.parametrize("facts", [{"loss": np.nan, "error": 1.0}, {"loss": 1.0, "error": np.inf}])
def test_any_fact_that_is_not_a_number_stops_the_fit(facts: dict[str, float]) -> None:
    trainer = EpochTrainer(Learner(epochs=3), TRAIN, None, RunOptions())
    with pytest.raises(XorecError, match="learner diverged in epoch 1"):
        trainer.run({}, lambda epoch, arrays: dict(facts), lambda arrays: arrays)  # type: ignore[arg-type, return-value]


CURVE = [0.3, 0.2, 0.25, 0.4, 0.1, 0.35, 0.2, 0.2]


@pytest.mark.parametrize("die_in", [2, 3, 4, 5, 6, 7])
def test_a_fit_that_died_in_any_epoch_goes_on_and_ends_the_same(
    options: RunOptions, die_in: int
) -> None:
    settings = {"epochs": 8, "patience": 3, **EACH}
    whole, first, second = (Learner(**settings) for _ in range(3))
    expected = Run(CURVE, replace(options, checkpoint=None)).fit(whole)
    broken = Run(CURVE, options)
    broken.die_in = die_in
    with pytest.raises(KeyboardInterrupt):
        broken.fit(first)
    again = Run(CURVE, replace(options, resume=True))
    state = again.fit(second)
    assert [*broken.trained, *again.trained] == [1, 2, 3, 4, 5, 6, 7]
    assert (second.history_, second.epochs_) == (whole.history_, whole.epochs_)
    assert state.arrays == expected.arrays == {"epochs": np.array([4])}
    done = Run(CURVE, replace(options, resume=True))
    assert done.fit(Learner(**settings)).arrays == expected.arrays
    assert done.trained == [], "it was over: early stopping is kept, too"
    anew = Run(CURVE, options)  # a checkpoint is taken up only where that is asked for
    anew.fit(Learner(**settings))
    assert anew.trained == [1, 2, 3, 4, 5, 6, 7]


def test_the_end_is_kept_however_long_writing_takes(
    options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count()
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("xorec.training.epochs.time", clock)
    Run([0.1] * 6, options).fit(Learner(epochs=6), validation=None)
    again = Run([0.1] * 6, replace(options, resume=True))
    assert again.fit(Learner(epochs=6), validation=None).arrays == {"epochs": np.array([6])}
    assert again.trained == []


@pytest.mark.parametrize(
    "other",
    [
        {"train": TRAIN.select(np.arange(TRAIN.n_pairs) > 0)},
        {"validation": VALIDATION.select(np.arange(VALIDATION.n_pairs) > 0)},
        {"validation": None},
        {"learner": Learner(epochs=3, patience=7)},
        {"seed": 4},
    ],
)
def test_the_checkpoint_of_another_run_is_refused(
    options: RunOptions, other: dict[str, Any]
) -> None:
    Run(CURVE, options).fit(Learner(epochs=3))
    seed = other.pop("seed", options.seed)
    run = Run(CURVE, replace(options, resume=True, seed=seed))
    with pytest.raises(XorecError, match="belongs to another run"):
        run.fit(**{"learner": Learner(epochs=3), **other})


def test_validation_looks_at_some_users_chosen_by_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert validation_sample(VALIDATION, 0) is VALIDATION
    monkeypatch.setattr("xorec.training.epochs._VALIDATION_USERS", 10)
    chosen = []
    for seed in (0, 0, 1):
        part = validation_sample(VALIDATION, seed)
        users = np.flatnonzero(part.user_counts)
        assert len(users) == 10
        np.testing.assert_array_equal(part.user_counts[users], VALIDATION.user_counts[users])
        chosen.append(users.tolist())
    assert chosen[0] == chosen[1] != chosen[2]
