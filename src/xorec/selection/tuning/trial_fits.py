"""One trial of a study: the model with the proposed settings, fitted and judged on validation."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xorec.core.errors import XorecError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Task
from xorec.data.interactions import Interactions
from xorec.models import model_class
from xorec.models.base import Model
from xorec.selection.tuning.watching import ClearlyWorseError, Curve, EpochWatch, clearly_worse
from xorec.training.config import Space
from xorec.training.epochs import validation_sample


@dataclass(frozen=True, eq=False)
class Search:
    """What is tuned: a model on parts of a data set, settings that are fixed, the space of the
    others, the metric to be largest, and whether hopeless trials are stopped."""

    model: str
    train: Interactions
    validation: Interactions
    fixed: dict[str, Any]
    space: Space
    metric: str
    prune: bool

    def defaults(self) -> dict[str, Any]:
        """The settings that move, as the model has them; some may be `auto`."""
        config = model_class(self.model)(**self.fixed).config.model_dump()
        return {name: config[name] for name in self.space}


@dataclass(frozen=True)
class TrialFit:
    """What came of a trial.

    curve: validation by epoch; attributes: epochs, refit, note, as `Trial` has them.
    """

    state: Literal["complete", "pruned", "failed"]
    value: float | None
    curve: dict[int, float]
    seconds: float
    attributes: dict[str, Any] = field(default_factory=dict)


class TrialFitter:
    """Fits and judges; knows nothing of files, and nothing of Optuna."""

    def __init__(self, search: Search, options: RunOptions) -> None:
        self._search, self._options = search, options
        self._judged_on = validation_sample(search.validation, options.seed)

    def fit(
        self,
        settings: Mapping[str, Any],
        curves: Sequence[Curve],
        bar: Task,
        figures: Mapping[str, float | str],
    ) -> TrialFit:
        """The model with these settings.

        curves: of the trials that it is compared with as it goes; figures: for the bar.
        """
        search, curve, began = self._search, dict[int, float](), time.perf_counter()

        def on_validation(epoch: int, value: float) -> None:
            curve[epoch] = value
            if search.prune and clearly_worse(curve, curves):
                raise ClearlyWorseError

        def over(state: Any, value: float | None, **attributes: Any) -> TrialFit:
            return TrialFit(state, value, curve, time.perf_counter() - began, attributes)

        watch = EpochWatch(bar, search.model, on_validation, figures)
        quiet = replace(self._options, progress=watch, checkpoint=None, resume=False)
        try:
            with warnings.catch_warnings():  # a fit that diverges overflows before it says so
                warnings.simplefilter("ignore", RuntimeWarning)
                model = model_class(search.model)(**search.fixed, **settings)
                model.fit(search.train, search.validation, quiet)
                value = self._value(model)
        except ClearlyWorseError:
            return over("pruned", None, epochs=max(curve))
        except XorecError as error:
            return over("failed", None, epochs=max(curve, default=0), note=str(error))
        if not math.isfinite(value):
            return over("failed", None, epochs=model.epochs_, note=f"{search.metric} is {value}")
        return over("complete", value, epochs=model.epochs_, refit=model.refit_settings())

    def _value(self, model: Model[Any]) -> float:
        from xorec.evaluation.protocol import evaluate

        cut = int(self._search.metric.partition("@")[2])
        quiet = replace(self._options, progress=DEFAULTS.progress)
        learned, train = model.representation_, self._search.train
        result = evaluate(learned, train, self._judged_on, ks=(cut,), options=quiet)
        return float(result[self._search.metric])
