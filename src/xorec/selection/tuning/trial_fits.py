"""One trial of a study: the model with the proposed settings, fitted and judged on validation."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Literal

from xorec.core.errors import XorecError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Progress, Task
from xorec.data.interactions import Interactions
from xorec.models import model_class
from xorec.models.base import Model
from xorec.training.config import Space
from xorec.training.epochs import validation_sample

WATCHED = "ndcg@20"
"""What the loop over epochs reports."""
_FEWEST_TRIALS, _FEWEST_REPORTS, _SHARE = 3, 2, 0.9

Curve = Mapping[int, float]
"""The validation metric by epoch."""


class ClearlyWorseError(Exception):
    """Stops a fit that is clearly worse than most were at the same epoch."""


def clearly_worse(curve: Curve, others: Sequence[Curve]) -> bool:
    """Whether the best so far is below 0.9 of the others' median at the same epoch.

    A fit that was over by then counts with its best. The first validation of a fit, and the first
    three fits, are never stopped.
    """
    now = max(curve, default=0)
    past = [[value for epoch, value in other.items() if epoch <= now] for other in others]
    best = [max(values) for values in past if values]
    if len(curve) < _FEWEST_REPORTS or len(best) < _FEWEST_TRIALS:
        return False
    return max(curve.values()) < _SHARE * median(best)


@dataclass(frozen=True)
class EpochWatch(Progress):
    """Tells `on_validation` of the epochs of tasks called `name`; all figures go to the `bar`."""

    bar: Task
    name: str
    on_validation: Callable[[int, float], None]
    figures: Mapping[str, float | str]

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        yield _WatchedTask(self, name == self.name)


class _WatchedTask(Task):
    def __init__(self, watch: EpochWatch, is_fit: bool) -> None:
        self._watch, self._is_fit, self._epoch = watch, is_fit, 0.0

    def advance(self, steps: float = 1, **figures: float | str) -> None:
        self._epoch += steps
        self._watch.bar.advance(0, **self._watch.figures, **figures)
        value = figures.get(f"validation_{WATCHED}")
        if self._is_fit and value is not None:
            self._watch.on_validation(int(self._epoch), float(value))


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
    """What came of a trial. state: as Optuna calls it.

    curve: validation by epoch; attributes: epochs, refit, note, as `Trial` has them.
    """

    state: Literal["COMPLETE", "PRUNED", "FAIL"]
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
            return over("PRUNED", None, epochs=max(curve))
        except XorecError as error:
            return over("FAIL", None, epochs=max(curve, default=0), note=str(error))
        if not math.isfinite(value):
            return over("FAIL", None, epochs=model.epochs_, note=f"{search.metric} is {value}")
        return over("COMPLETE", value, epochs=model.epochs_, refit=model.refit_settings())

    def _value(self, model: Model[Any]) -> float:
        from xorec.evaluation.protocol import evaluate

        cut = int(self._search.metric.partition("@")[2])
        quiet = replace(self._options, progress=DEFAULTS.progress)
        learned, train = model.representation_, self._search.train
        result = evaluate(learned, train, self._judged_on, ks=(cut,), options=quiet)
        return float(result[self._search.metric])
