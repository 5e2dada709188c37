from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import optuna
import pytest

from xorec.core.errors import DataError, OptionError, XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress, Task
from xorec.data.split import Split, split
from xorec.evaluation.protocol import evaluate
from xorec.models import MODELS, model_class
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.selection.tuning import trial_fits
from xorec.selection.tuning.rounds import distribution, even_point, propose
from xorec.selection.tuning.study_file import open_study
from xorec.selection.tuning.trial_fits import clearly_worse
from xorec.selection.tuning.tuning import Trial, Tuned, tune
from xorec.testing.data import planted
from xorec.testing.engines import InProcess
from xorec.training.config import Choice, Float, Int

QUICK = {"epochs": 6, "validate_every": 2, "dimensions": 8}
OPTIONS = RunOptions(threads=1)


@pytest.fixture(scope="module")
def parts() -> Split:
    """Planted pairs; the test part is missing, for nobody may look at it."""
    whole = split(planted(120, 80, per_user=15), test=0.2, validation=0.1)
    return replace(whole, test=cast(Any, None))


def timeless(found: Tuned) -> list[Trial]:
    return [replace(trial, seconds=0.0) for trial in found.trials]


@pytest.mark.parametrize("name", MODELS)
def test_every_setting_of_a_space_is_a_legal_setting_of_its_model(name: str) -> None:
    for setting, one in model_class(name).space.items():
        assert model_class(name)().config.resolved().model_dump()[setting] in one, (
            "the first trial's"
        )
        values = one.values if isinstance(one, Choice) else (one.low, one.high)
        for value in values:
            config = model_class(name)(**{setting: value}).config.model_dump()
            assert config[setting] == value


@pytest.mark.parametrize(
    "one", [Float(0.1, 10, log=True), Float(-1, 3), Int(4, 32), Int(1, 9, True)]
)
def test_a_range_is_walked_from_end_to_end(one: Float | Int) -> None:
    walked = [one.at(float(share)) for share in np.linspace(0, 1, 500, endpoint=False)]
    assert walked == sorted(walked)
    assert all(value in one for value in walked)
    assert walked[0] == one.low
    assert walked[-1] == pytest.approx(one.high, rel=0.02)


def test_even_points_leave_no_large_gap() -> None:
    for seed in range(5):
        points = [even_point({"x": Float(0, 1)}, n, seed)["x"] for n in range(1, 17)]
        ring = np.sort(points)
        assert np.diff(ring, append=ring[0] + 1).max() < 2.7 / 16


@pytest.mark.parametrize("name", ["bpr", "siml"])
def test_the_first_trial_has_the_defaults_and_its_value_is_that_of_a_plain_fit(
    parts: Split, name: str
) -> None:
    """What a model leaves to a race of its own, as siml does, is left to it there too."""
    found = tune(name, parts, trials=1, fixed=QUICK, options=OPTIONS)
    (trial,) = found.trials
    model = model_class(name)(**QUICK)
    assert trial.settings == {one: getattr(model.config, one) for one in model_class(name).space}
    model.fit(parts.train, parts.validation, OPTIONS)
    assert parts.validation is not None
    result = evaluate(model.representation_, parts.train, parts.validation, ks=(20,))
    assert (trial.value, trial.epochs) == (result["ndcg@20"], model.epochs_)
    assert trial.refit == model.refit_settings()
    assert found.settings == {**QUICK, **trial.settings}


class Broken(Progress, Task):
    """Presses Ctrl-C at a step of the bar."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        yield self

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_a_study_that_was_broken_off_equals_one_that_ran_through(
    parts: Split, tmp_path: Path
) -> None:
    path = tmp_path / "s.study"
    how: dict[str, Any] = {"trials": 11, "fixed": QUICK}
    whole = tune("bpr", parts, **how, options=OPTIONS)
    assert len({str(trial.settings) for trial in whole.trials}) == 11
    for steps in (4, 31, 40):
        broken = replace(OPTIONS, progress=Broken(steps))
        with pytest.raises(KeyboardInterrupt):
            tune("bpr", parts, **how, study=path, options=broken)
        with path.open("ab") as file:  # as after kill -9 in the middle of a line
            file.write(b'{"op_code":4,"wor')
    less = tune("bpr", parts, **{**how, "trials": 9}, study=path, options=OPTIONS)
    assert timeless(less) == timeless(whole)[:9]
    again = tune("bpr", parts, **how, study=path, options=OPTIONS)
    assert timeless(again) == timeless(whole)
    written = path.read_bytes()
    assert tune("bpr", parts, **how, study=path, options=OPTIONS) == again
    assert path.read_bytes() == written


def test_a_study_of_something_else_is_refused(parts: Split, tmp_path: Path) -> None:
    path = tmp_path / "s.study"
    tune("item-knn", parts, trials=1, study=path)
    for other in (
        {"metric": "recall@10"},
        {"options": RunOptions(seed=1)},
        {"fixed": {"shrink": 1.0}},
        {"prune": False},
    ):
        with pytest.raises(OptionError, match=r"s\.study is of another run"):
            tune("item-knn", parts, trials=2, study=path, **cast(Any, other))
    fewer = replace(parts, train=parts.train.select(np.arange(parts.train.n_pairs) > 3))
    with pytest.raises(OptionError, match=r"\(data differ\)"):
        tune("item-knn", fewer, trials=2, study=path)


def test_a_file_of_others_stays_as_it_is(parts: Split, tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    path.write_text("[bpr]\nepochs = 3")
    with pytest.raises(OptionError, match="not a study"):
        tune("item-knn", parts, trials=1, study=path)
    assert path.read_text() == "[bpr]\nepochs = 3"
    path = tmp_path / "s.study"
    with open_study(path, {}), pytest.raises(OptionError, match="another run is at work"):
        tune("item-knn", parts, trials=1, study=path)


def test_a_fit_that_fails_is_recorded(parts: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    learn = BPR._learn

    def fails(self: BPR, *parts: Any) -> Any:
        if self.config.negatives > 8:
            raise XorecError("bpr diverged in epoch 3")
        return learn(self, *parts)

    monkeypatch.setattr(BPR, "_learn", fails)
    found = tune("bpr", parts, trials=9, fixed=QUICK, options=OPTIONS)
    states = {t.state for t in found.trials if t.settings["negatives"] > 8}
    assert states == {"failed"}
    assert all(
        t.value is None and "diverged" in t.note for t in found.trials if t.state == "failed"
    )
    assert found.best.settings["negatives"] <= 8
    elsewhere = replace(OPTIONS, engine=InProcess(1))
    many = {**QUICK, "negatives": 9}
    none = tune("bpr", parts, trials=2, at_once=2, fixed=many, options=elsewhere)
    assert [(t.state, t.value) for t in none.trials] == [("failed", None)] * 2
    with pytest.raises(XorecError, match="no trial of bpr came to its end: bpr diverged"):
        _ = none.best


def test_trials_at_once_are_those_of_one_after_the_other_here_and_elsewhere(
    parts: Split, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"trials": 11, "fixed": QUICK, "at_once": 3}
    whole = tune("bpr", parts, **how, options=OPTIONS)
    elsewhere = replace(OPTIONS, engine=InProcess(2))
    assert timeless(tune("bpr", parts, **how, options=elsewhere)) == timeless(whole)
    alone = tune("bpr", parts, **{**how, "at_once": 1}, options=OPTIONS)
    assert timeless(alone)[:5] != timeless(whole)[:5]  # the fifth is proposed from three, not four
    assert timeless(alone)[:4] == timeless(whole)[:4]
    path = tmp_path / "s.study"  # broken off within a round, gone on with elsewhere
    less = tune("bpr", parts, **{**how, "trials": 7}, study=path, options=OPTIONS)
    assert timeless(less) == timeless(whole)[:7]
    again = tune("bpr", parts, **how, study=path, options=elsewhere)
    assert timeless(again) == timeless(whole)
    with pytest.raises(OptionError, match=r"\(at_once differ\)"):
        tune("bpr", parts, trials=12, fixed=QUICK, study=path, options=OPTIONS)


def test_trials_of_a_round_are_stopped_by_the_rounds_before(
    parts: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[int] = []

    def watched(curve: Any, others: Any) -> bool:
        known.append(len(others))
        return False

    monkeypatch.setattr(trial_fits, "clearly_worse", watched)
    for options in (OPTIONS, replace(OPTIONS, engine=InProcess(1))):
        known.clear()
        study = tmp_path / options.block_engine.name
        for trials in (3, 5):  # broken off within a round
            tune("bpr", parts, trials=trials, at_once=2, fixed=QUICK, options=options, study=study)
        reports = QUICK["epochs"] // QUICK["validate_every"]
        assert known == [count for count in (0, 0, 2, 2, 4) for _ in range(reports)]


def test_the_seed_reaches_trials_elsewhere(parts: Split) -> None:
    seeded = replace(OPTIONS, seed=5)
    here = tune("bpr", parts, trials=2, at_once=2, fixed=QUICK, options=seeded)
    elsewhere = replace(seeded, engine=InProcess(1))
    there = tune("bpr", parts, trials=2, at_once=2, fixed=QUICK, options=elsewhere)
    assert timeless(there) == timeless(here)


def test_trials_of_one_round_do_not_try_the_same() -> None:
    space = model_class("bpr").space
    finished = [_finished(space, n) for n in range(8)]
    params: list[dict[str, Any]] = []
    for _ in range(6):
        params.append(propose("bpr", space, finished, 0, {}, params))
    blind = propose("bpr", space, finished, 0, {}, [finished[0].params] * 5)
    assert len({str(one) for one in params}) == 6
    assert blind != params[5]  # what the others try is looked at


def _finished(space: Any, number: int) -> Any:
    params = even_point(space, number, 0)
    distributions = {name: distribution(one) for name, one in space.items()}
    value = 0.1 * number
    return optuna.trial.create_trial(value=value, params=params, distributions=distributions)


def test_equal_settings_in_one_round_are_fitted_once(parts: Split) -> None:
    engine = InProcess(1)
    options = replace(OPTIONS, engine=engine)
    fixed = {"bits": 8, "start": {"epochs": 1}}
    found = tune("signs", parts, trials=8, at_once=8, fixed=fixed, options=options)
    distinct = {str(trial.settings): trial for trial in reversed(found.trials)}
    assert [len(blocks) for blocks in engine.sent] == [len(distinct)]
    assert len(distinct) < 8
    for trial in found.trials:
        first = distinct[str(trial.settings)]
        assert (trial.value, trial.refit) == (first.value, first.refit)
        assert trial.note == ("" if trial is first else f"as trial {first.number}")


def test_the_best_is_the_first_of_equal_trials_that_came_to_their_end() -> None:
    states = ["complete", "complete", "pruned", "complete", "failed"]
    values = [0.2, 0.5, 0.9, 0.5, None]
    trials = [
        Trial(number, state, value, 3, 1.0, {"x": number}, {})
        for number, (state, value) in enumerate(zip(states, values, strict=True))
    ]
    found = Tuned("bpr", "ndcg@20", {"y": 7}, trials)
    assert found.best.number == 1
    assert found.settings == {"y": 7, "x": 1}


def test_the_seed_reaches_every_proposal() -> None:
    from optuna.trial import create_trial

    space = {"x": Float(0.0, 1.0)}
    finished = [
        create_trial(value=v, params={"x": v}, distributions={"x": distribution(space["x"])})
        for v in (0.1, 0.7, 0.4, 0.9, 0.2)
    ]
    for count in (1, 3, 5):  # points that fill the space, then TPE
        one, same, other = (
            propose("bpr", cast(Any, space), finished[:count], seed, {}) for seed in (0, 0, 1)
        )
        assert one == same != other


def test_the_metric_that_is_asked_for_is_measured(parts: Split) -> None:
    found = tune("item-knn", parts, trials=1, metric="recall@7", options=OPTIONS)
    model = model_class("item-knn")().fit(parts.train)
    assert parts.validation is not None
    result = evaluate(model.representation_, parts.train, parts.validation, ks=(7,))
    assert found.best.value == result["recall@7"] != result["ndcg@7"]


def test_trials_leave_a_checkpoint_of_the_caller_alone(parts: Split, tmp_path: Path) -> None:
    options = replace(OPTIONS, checkpoint=tmp_path / "mine", resume=True)
    found = tune("bpr", parts, trials=2, fixed=QUICK, options=options)
    assert [trial.state for trial in found.trials] == ["complete"] * 2
    assert list(tmp_path.iterdir()) == []


def test_clearly_worse() -> None:
    others = [{5: 0.2, 10: 0.3}, {5: 0.1, 10: 0.4, 15: 0.5}, {5: 0.4, 10: 0.35}]
    assert not clearly_worse({5: 0.01}, others), "the first validation is let be"
    assert not clearly_worse({5: 0.01, 10: 0.01}, others[:2]), "two fits are too few"
    assert clearly_worse({5: 0.2, 10: 0.35}, others), "medians of the best: 0.3, 0.4, 0.4"
    assert not clearly_worse({5: 0.2, 10: 0.361}, others)
    assert not clearly_worse({5: 0.37, 10: 0.2}, others), "its own best counts"
    assert not clearly_worse({5: 0.1, 10: 0.2, 15: 0.37}, others), "those that ended stay"
    assert clearly_worse({5: 0.1, 10: 0.2, 15: 0.35}, others)


def test_hopeless_trials_are_stopped_early(parts: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    space = {"learning_rate": Choice((1e-9, 0.1, 0.101, 0.102))}
    monkeypatch.setattr(model_class("bpr"), "space", space)
    fixed = {"epochs": 12, "validate_every": 2, "dimensions": 8, "patience": 9}
    found = tune("bpr", parts, trials=9, fixed=fixed, options=OPTIONS)
    stopped = [trial for trial in found.trials if trial.state == "pruned"]
    assert stopped
    assert all((t.settings["learning_rate"], t.epochs) == (1e-9, 4) for t in stopped)
    free = tune("bpr", parts, trials=9, fixed=fixed, prune=False, options=OPTIONS)
    assert {trial.state for trial in free.trials} == {"complete"}
    twins = [t for t in free.trials if t.settings["learning_rate"] == 0.1]
    assert len({t.value for t in twins}) == 1
    assert {t.note for t in twins[1:]} <= {"as trial 0"}


def test_dsiml_starts_from_one_siml_and_is_judged_as_a_plain_fit(parts: Split) -> None:
    start = {"epochs": 4, "validate_every": 2, "dimensions": 8}
    fixed = {"epochs": 2, "bits": 16, "start": start}
    found = tune("dsiml", parts, trials=2, fixed=fixed, options=OPTIONS)
    assert parts.validation is not None
    for trial in found.trials:
        model = DSIML(**{**fixed, **trial.settings}).fit(parts.train, parts.validation, OPTIONS)
        result = evaluate(model.representation_, parts.train, parts.validation, ks=(20,))
        assert trial.value == result["ndcg@20"]
        assert trial.refit == model.refit_settings()


def test_no_trial_begins_after_the_timeout(parts: Split, tmp_path: Path) -> None:
    path = tmp_path / "s.study"
    assert len(tune("item-knn", parts, trials=5, study=path, timeout=1e-9).trials) == 1
    assert len(tune("item-knn", parts, trials=5, study=path, timeout=1e-9).trials) == 1
    assert len(tune("item-knn", parts, trials=5, study=path, timeout=1e9).trials) == 5


def test_what_cannot_be_tuned(parts: Split) -> None:
    for model, how, message in (
        ("popularity", {}, "popularity has nothing to tune"),
        ("bqr", {}, "there is no model 'bqr'"),
        ("item-knn", {"fixed": {"neighbours": 9, "shrink": 1.0}}, "every setting of item-knn"),
        ("bpr", {"fixed": {"epoch": 9}}, "bpr has no setting 'epoch'"),
        ("bpr", {"metric": "ndcg"}, "metric is 'ndcg'"),
        ("bpr", {"trials": 0}, "trials is 0"),
    ):
        with pytest.raises(OptionError, match=message):
            tune(model, parts, **cast(Any, how))
    with pytest.raises(DataError, match="validation part"):
        tune("bpr", replace(parts, validation=None))
