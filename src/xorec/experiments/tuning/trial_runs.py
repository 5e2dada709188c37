"""One trial of a study: the model with the proposed settings, fitted and judged on validation."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Task
from xorec.data.split import Split
from xorec.experiments.tuning.proposals import distribution, propose
from xorec.experiments.tuning.watching import ClearlyWorseError, EpochWatch, clearly_worse
from xorec.models import model_class
from xorec.models.base import Model
from xorec.training.epochs import validation_sample
from xorec.training.space import Space


@dataclass(frozen=True, eq=False)
class Search:
    """What is tuned: a model on the parts of a data set, settings that are fixed, the space of the
    others, the metric to be largest, and whether hopeless trials are stopped."""

    model: str
    parts: Split
    fixed: dict[str, Any]
    space: Space
    metric: str
    prune: bool


class TrialRunner:
    """Fits and judges; knows nothing of files."""

    def __init__(self, search: Search, options: RunOptions, task: Task) -> None:
        assert search.parts.validation is not None
        self._search, self._options, self._task = search, options, task
        self._name, self._fixed, self._space = search.model, search.fixed, search.space
        self._train, self._validation = search.parts.train, search.parts.validation
        self._judged_on = validation_sample(self._validation, options.seed)

    def run(self, finished: Sequence[Any]) -> Any:
        """The next trial, as Optuna keeps it."""
        import optuna

        params = propose(self._name, self._space, finished, self._options.seed, self._fixed)
        settings = {**self._defaults(), **params}
        same = next((t for t in finished if t.user_attrs["settings"] == settings), None)
        began, curve = time.perf_counter(), dict[int, float]()
        attributes: dict[str, Any] = {"settings": settings, "epochs": 0, "refit": {}}
        if same is not None:
            state, value, curve = same.state, same.value, dict(same.intermediate_values)
            note = same.user_attrs.get("note") or f"as trial {same.number}"
            attributes |= {**same.user_attrs, "note": note}
        else:
            state, value, more = self._fit_and_judge(settings, finished, curve)
            attributes |= more
        attributes["seconds"] = time.perf_counter() - began
        distributions = {name: distribution(self._space[name]) for name in params}
        return optuna.trial.create_trial(
            state=state,
            value=value,
            params=params,
            distributions=distributions,
            user_attrs=attributes,
            intermediate_values=curve,
        )

    def _defaults(self) -> dict[str, Any]:
        config = model_class(self._name)(**self._fixed).config.settled().model_dump()
        return {name: config[name] for name in self._space}

    def _fit_and_judge(
        self, settings: dict[str, Any], finished: Sequence[Any], curve: dict[int, float]
    ) -> tuple[Any, float | None, dict[str, Any]]:
        """(state, value, attributes) of one fit; `curve` gets the validation of its epochs."""
        from optuna.trial import TrialState

        complete = [trial for trial in finished if trial.state == TrialState.COMPLETE]
        curves = [trial.intermediate_values for trial in complete]
        best = max((trial.value for trial in complete), default=0.0)

        def on_validation(epoch: int, value: float) -> None:
            curve[epoch] = value
            if self._search.prune and clearly_worse(curve, curves):
                raise ClearlyWorseError

        values = {"trial": str(len(finished)), "best": best}
        watch = EpochWatch(self._task, self._name, on_validation, values)
        quiet = replace(self._options, progress=watch, checkpoint=None, resume=False)
        try:
            with warnings.catch_warnings():  # a fit that diverges overflows before it says so
                warnings.simplefilter("ignore", RuntimeWarning)
                model = model_class(self._name)(**self._fixed, **settings)
                model.fit(self._train, self._validation, quiet)
                value = self._value(model)
        except ClearlyWorseError:
            return TrialState.PRUNED, None, {"epochs": max(curve)}
        except XorecError as error:
            return TrialState.FAIL, None, {"epochs": max(curve, default=0), "note": str(error)}
        if not math.isfinite(value):
            note = f"{self._search.metric} is {value}"
            return TrialState.FAIL, None, {"epochs": model.epochs_, "note": note}
        return (
            TrialState.COMPLETE,
            value,
            {"epochs": model.epochs_, "refit": model.refit_settings()},
        )

    def _value(self, model: Model[Any]) -> float:
        from xorec.evaluation.protocol import evaluate

        cut = int(self._search.metric.partition("@")[2])
        quiet = replace(self._options, progress=DEFAULTS.progress)
        result = evaluate(
            model.representation_, self._train, self._judged_on, ks=(cut,), options=quiet
        )
        return float(result[self._search.metric])
