"""Watching a fit through its progress: the validation of each epoch, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median

from xorec.core.progress import Progress, Task

WATCHED = "ndcg@20"
"""What the loop over epochs reports."""
_FACT = f"validation_{WATCHED}"
_FEWEST_TRIALS = 3
_FEWEST_REPORTS = 2
_SHARE = 0.9

Curve = Mapping[int, float]
"""The validation metric by epoch."""


class ClearlyWorseError(Exception):
    """Stops a fit that is clearly worse than most were at the same epoch."""


def clearly_worse(own: Curve, others: Sequence[Curve]) -> bool:
    """Whether the best so far is below 0.9 of the others' median at the same epoch.

    A fit that was over by then counts with its best. The first validation of a fit, and the first
    three fits, are let be.
    """
    now = max(own, default=0)
    past = [[value for epoch, value in curve.items() if epoch <= now] for curve in others]
    best = [max(values) for values in past if values]
    if len(own) < _FEWEST_REPORTS or len(best) < _FEWEST_TRIALS:
        return False
    return max(own.values()) < _SHARE * median(best)


class Watch(Progress):
    """Passes the epochs of tasks called `name` to `look`, and all facts to the bar `outer`."""

    def __init__(
        self,
        outer: Task,
        name: str,
        look: Callable[[int, float], None],
        facts: Mapping[str, float | str],
    ) -> None:
        self.outer, self.name, self.look, self.facts = outer, name, look, facts

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        yield _Watched(self, name == self.name)


class _Watched(Task):
    def __init__(self, watch: Watch, looked_at: bool) -> None:
        self._watch, self._looked_at, self._at = watch, looked_at, 0.0

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        self._at += steps
        self._watch.outer.advance(0, **self._watch.facts, **facts)
        if self._looked_at and _FACT in facts:
            self._watch.look(int(self._at), float(facts[_FACT]))
