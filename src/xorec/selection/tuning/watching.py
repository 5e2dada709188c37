"""Watching a fit through its progress: the validation of each epoch, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

from xorec.core.progress import Progress, Task

WATCHED = "ndcg@20"
"""What the loop over epochs reports."""
_REPORTED = f"validation_{WATCHED}"
_FEWEST_TRIALS = 3
_FEWEST_REPORTS = 2
_SHARE = 0.9

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


class EpochWatch(Progress):
    """Tells `on_validation` of the epochs of tasks called `name`; all figures go to the `bar`."""

    def __init__(
        self,
        bar: Task,
        name: str,
        on_validation: Callable[[int, float], None],
        figures: Mapping[str, float | str],
    ) -> None:
        self.bar, self.name, self.on_validation, self.figures = bar, name, on_validation, figures

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        yield _WatchedTask(self, name == self.name)


class _WatchedTask(Task):
    def __init__(self, watch: EpochWatch, is_fit: bool) -> None:
        self._watch, self._is_fit, self._epoch = watch, is_fit, 0.0

    def advance(self, steps: float = 1, **figures: float | str) -> None:
        self._epoch += steps
        self._watch.bar.advance(0, **self._watch.figures, **figures)
        if self._is_fit and _REPORTED in figures:
            self._watch.on_validation(int(self._epoch), float(figures[_REPORTED]))
