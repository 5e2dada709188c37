"""Tuning: the settings of one model that are best on the validation part, by Optuna.

Trial 0 has the model's defaults. What is proposed hangs on the seed and the trials of earlier
rounds alone (`rounds`; one has a single trial, or as many as run at once), so a study that was
broken off and gone on with has the same trials as one that ran through, a study of 20 trials begins
with those of one of 10, and trials on an engine are those of this machine.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from xorec.core.arrays import positive_int
from xorec.core.errors import DataError, MissingExtraError, OptionError, XorecError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.io.read import ReadOptions
from xorec.data.split import as_split
from xorec.evaluation.metrics import USER_METRICS
from xorec.models import model_class
from xorec.selection.tuning.rounds import next_round, running
from xorec.selection.tuning.study_file import StudyFile, open_study
from xorec.selection.tuning.trial_fits import WATCHED, Search
from xorec.training.config import Space


@dataclass(frozen=True)
class Trial:
    """One fit. state: complete, pruned (clearly worse than most) or failed (it diverged, say).

    value: the metric on validation; NDCG@20 is also known of a fit that was stopped, at its last
    epoch. settings: those that move; refit: all settings for a fit on more pairs, with the number
    of epochs that was best.

    >>> trial = Trial(0, "complete", 0.21, 4, 1.5, {"reg": 0.1}, {"reg": 0.1, "epochs": 4})
    >>> trial.row()["reg"]
    0.1
    """

    number: int
    state: str
    value: float | None
    epochs: int
    seconds: float
    settings: dict[str, Any]
    refit: dict[str, Any]
    note: str = ""

    def row(self) -> dict[str, Any]:
        """One flat row."""
        row = asdict(self)
        del row["refit"], row["settings"]
        return {**row, **self.settings}


@dataclass(frozen=True)
class Tuned:
    """What a study has found.

    >>> trials = [Trial(n, "complete", 0.2 + n / 100, 4, 1.5, {"reg": n}, {}) for n in range(3)]
    >>> found = Tuned("bpr", "ndcg@20", {"dimensions": 8}, trials)
    >>> found.best.number, found.settings, found.seconds
    (2, {'dimensions': 8, 'reg': 2}, 4.5)
    """

    model: str
    metric: str
    fixed: dict[str, Any]
    trials: list[Trial]

    @cached_property
    def best(self) -> Trial:
        """The best trial that was fitted to its end; the earlier one of equals."""
        done = [trial for trial in self.trials if trial.state == "complete"]
        if not done:
            why = next((t.note for t in self.trials if t.note), "none was begun: allow more time.")
            raise XorecError(f"no trial of {self.model} came to its end: {why}")
        return max(done, key=lambda trial: (trial.value or 0.0, -trial.number))

    @property
    def settings(self) -> dict[str, Any]:
        """The fixed settings, and those that move as the best trial had them."""
        return {**self.fixed, **self.best.settings}

    @property
    def seconds(self) -> float:
        """Of all trials."""
        return sum(trial.seconds for trial in self.trials)


def tune(
    model: str,
    data: Any,
    *,
    trials: int = 20,
    study: Path | None = None,
    fixed: Mapping[str, Any] | None = None,
    metric: str = WATCHED,
    prune: bool = True,
    timeout: float | None = None,
    at_once: int = 1,
    options: RunOptions = DEFAULTS,
    **reading: Unpack[ReadOptions],
) -> Tuned:
    """Fit `model` up to `trials` times on the training part; judge on the validation part.

    data: a split with a validation part, or what `split` takes: a tenth is held out then.
    reading: how `xorec.read` reads it: user_column, ...
    The metric is that of the fitted representation, over at most 5,000 validation users: those
    that early stopping looks at, the same in every trial. The test part is not touched. study: a
    file to keep trials in; with one, `trials` and `timeout` (seconds of trials, no new one is begun
    after it) are for all runs together. at_once: so many trials are proposed together, from those
    before them; on a remote engine they run side by side, each in one thread. Needs Optuna:
    pip install 'xorec[tune]'.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> parts = xorec.split(xorec.Interactions.from_pairs(pairs), validation=0.1)
    >>> found = xorec.tune("item-knn", parts, trials=2)
    >>> [trial.state for trial in found.trials]
    ['complete', 'complete']
    >>> found.best.value == max(trial.value for trial in found.trials)
    True
    """
    settings, at_once = dict(fixed or {}), positive_int(at_once, "at_once")
    space = check(model, settings, trials, metric)
    parts = as_split(data, seed=options.seed, **reading)
    if parts.validation is None:
        raise DataError("tuning needs a validation part: split with validation=0.1 (--validation).")
    search = Search(model, parts.train, parts.validation, settings, space, metric, prune)
    about = {
        "model": model,
        "data": [parts.train.digest(), parts.validation.digest()],
        "fixed": settings,
        "space": as_json(space),
        "seed": options.seed,
        "metric": metric,
        "prune": prune,
        "at_once": at_once,
    }
    with (
        _quiet_optuna(),
        open_study(study, about) as kept,
        options.progress.task(f"tune {model}", total=trials) as task,
        running(search, options, task) as runner,
    ):
        task.advance(min(trials, len(kept.trials)))
        while len(kept.trials) < trials and not _out_of_time(kept, timeout):
            for trial in next_round(runner, kept.trials, trials, at_once):
                kept.add(trial)
                task.advance(1)
        found = [_trial(number, one, metric) for number, one in enumerate(kept.trials)]
    return Tuned(model, metric, settings, found)


def _trial(number: int, kept: Any, metric: str) -> Trial:
    attributes, curve = kept.user_attrs, kept.intermediate_values
    state = {"COMPLETE": "complete", "PRUNED": "pruned"}.get(kept.state.name, "failed")
    value = curve[max(curve)] if state == "pruned" and metric == WATCHED else kept.value
    return Trial(
        number,
        state,
        value,
        attributes["epochs"],
        attributes["seconds"],
        attributes["settings"],
        attributes["refit"],
        attributes.get("note", ""),
    )


def _out_of_time(kept: StudyFile, timeout: float | None) -> bool:
    return timeout is not None and sum(t.user_attrs["seconds"] for t in kept.trials) >= timeout


def check(model: str, fixed: Mapping[str, Any], trials: int, metric: str) -> Space:
    """What moves; complains of a request that cannot be met, before any data is read."""
    if importlib.util.find_spec("optuna") is None:
        raise MissingExtraError("tuning needs Optuna: pip install 'xorec[tune]'.")
    model_class(model)(**fixed)
    name, _, cut = metric.partition("@")
    if name not in USER_METRICS or not cut.isdigit() or int(cut) < 1:
        known = ", ".join(USER_METRICS)
        raise OptionError(f"metric is {metric!r}: give one of {known} as ndcg@20.")
    if trials < 1:
        raise OptionError(f"trials is {trials}: give 1 or more.")
    return space_of(model, fixed)


def space_of(model: str, fixed: Collection[str] = ()) -> Space:
    """What moves of `model` when the settings `fixed` do not; complains if nothing does."""
    whole: Space = model_class(model).space
    if not whole:
        raise OptionError(f"{model} has nothing to tune: fit it as it is.")
    stays = model_class(model).Config.with_new_names(dict.fromkeys(fixed))
    space = {name: one for name, one in whole.items() if name not in stays}
    if not space:
        raise OptionError(
            f"every setting of {model} that could move is fixed: leave one of "
            f"{', '.join(whole)} free."
        )
    return space


def as_json(space: Space) -> dict[str, Any]:
    """The space as plain lists and numbers, to tell one from another."""
    kinds = {name: {"kind": type(one).__name__.lower(), **vars(one)} for name, one in space.items()}
    plain: dict[str, Any] = json.loads(json.dumps(kinds))
    return plain


@contextmanager
def _quiet_optuna() -> Iterator[None]:
    """Optuna without its log lines and its warnings about features on trial."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
