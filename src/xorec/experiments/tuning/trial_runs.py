"""One trial of a study: the model with the proposed settings, fitted and judged on validation."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Task
from xorec.data.split import Split
from xorec.experiments.tuning.proposals import distribution, propose
from xorec.experiments.tuning.watching import ClearlyWorseError, Watch, clearly_worse
from xorec.models import model_class
from xorec.models.base import Model
from xorec.training.epochs import validation_sample
from xorec.training.space import Space


class TrialRunner:
    """Fits and judges; knows nothing of files."""

    def __init__(
        self,
        model: str,
        parts: Split,
        fixed: dict[str, Any],
        space: Space,
        metric: str,
        prune: bool,
        options: RunOptions,
        task: Task,
    ) -> None:
        assert parts.validation is not None
        self._name, self._fixed, self._space, self._metric = model, fixed, space, metric
        self._train, self._validation = parts.train, parts.validation
        self._judged_on = validation_sample(parts.validation, options.seed)
        self._prune, self._options, self._task = prune, options, task

    def run(self, finished: list[Any]) -> Any:
        """The next trial, as Optuna keeps it."""
        import optuna

        number = len(finished)
        params = propose(self._name, self._space, finished, self._options.seed, self._fixed)
        moved = {**self._defaults(), **params}
        same = next((t for t in finished if t.user_attrs["settings"] == moved), None)
        began, reports = time.perf_counter(), dict[int, float]()
        facts: dict[str, Any] = {"settings": moved, "epochs": 0, "refit": {}}
        if same is not None:
            state, value, reports = same.state, same.value, dict(same.intermediate_values)
            note = same.user_attrs.get("note") or f"as trial {same.number}"
            facts |= {**same.user_attrs, "note": note}
        else:
            state, value, more = self._outcome(number, moved, finished, reports)
            facts |= more
        facts["seconds"] = time.perf_counter() - began
        spread = {name: distribution(self._space[name]) for name in params}
        return optuna.trial.create_trial(
            state=state,
            value=value,
            params=params,
            distributions=spread,
            user_attrs=facts,
            intermediate_values=reports,
        )

    def _defaults(self) -> dict[str, Any]:
        config = model_class(self._name)(**self._fixed).config.model_dump()
        return {name: config[name] for name in self._space}

    def _outcome(
        self, number: int, moved: dict[str, Any], finished: list[Any], reports: dict[int, float]
    ) -> tuple[Any, float | None, dict[str, Any]]:
        """(state, value, facts) of one fit; `reports` gets the validation of its epochs."""
        from optuna.trial import TrialState

        curves = [t.intermediate_values for t in finished if t.state == TrialState.COMPLETE]
        best = max((t.value for t in finished if t.state == TrialState.COMPLETE), default=0.0)

        def look(epoch: int, value: float) -> None:
            reports[epoch] = value
            if self._prune and clearly_worse(reports, curves):
                raise ClearlyWorseError

        watch = Watch(self._task, self._name, look, {"trial": str(number), "best": best})
        quiet = replace(self._options, progress=watch, checkpoint=None, resume=False)
        try:
            with warnings.catch_warnings():  # a fit that diverges overflows before it says so
                warnings.simplefilter("ignore", RuntimeWarning)
                model = model_class(self._name)(**self._fixed, **moved)
                model.fit(self._train, self._validation, quiet)
                value = self._value(model)
        except ClearlyWorseError:
            return TrialState.PRUNED, None, {"epochs": max(reports)}
        except XorecError as error:
            return TrialState.FAIL, None, {"epochs": max(reports, default=0), "note": str(error)}
        if not math.isfinite(value):
            note = f"{self._metric} is {value}"
            return TrialState.FAIL, None, {"epochs": model.epochs_, "note": note}
        return (
            TrialState.COMPLETE,
            value,
            {"epochs": model.epochs_, "refit": model.refit_settings()},
        )

    def _value(self, model: Model[Any]) -> float:
        from xorec.evaluation.protocol import evaluate

        cut = int(self._metric.partition("@")[2])
        quiet = replace(self._options, progress=DEFAULTS.progress)
        result = evaluate(
            model.representation_, self._train, self._judged_on, ks=(cut,), options=quiet
        )
        return float(result[self._metric])
