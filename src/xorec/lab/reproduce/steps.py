"""Steps: the parts of a run in order, and a guess of what each costs, to tell the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

from xorec.core.options import RunOptions
from xorec.models import model_class

_TELLING = 0.02
"""The share of the work that must be done before anything is said of the rest."""


class Stage(Enum):
    """When a step can be done, and where."""

    CHOICE = "choices"
    """At once."""
    FIT = "fits"
    """After all choices."""
    HERE = "here"
    """In its turn, by this process: it measures time."""


@dataclass(frozen=True)
class Step:
    """One part. key: two steps with the same key are one. run: does it and says what came out.

    stage: for engines, which do those of one stage side by side.
    """

    key: Hashable
    label: str
    cost: float
    done: Callable[[], bool]
    run: Callable[[], str]
    stage: Stage = Stage.HERE


def fit_cost(model: str, pairs: int) -> float:
    """A guess of what one fit costs, in any unit."""
    return float(model_class(model).cost * pairs)


def run_all(steps: Sequence[Step], options: RunOptions) -> None:
    """Do what is not done yet; the bar tells what is being done and how long the rest may take."""
    todo = list({step.key: step for step in steps}.values())
    left = sum(step.cost for step in todo)
    with options.progress.task("reproduce", total=left) as task:
        spent, paid = 0.0, 0.0
        for number, step in enumerate(todo, 1):
            left -= step.cost
            if step.done():
                task.advance(step.cost, now=step.label)
                continue
            task.advance(0, now=step.label, left=_left(spent, paid, left + step.cost))
            began = time.perf_counter()
            said = step.run()
            spent, paid = spent + time.perf_counter() - began, paid + step.cost
            rest = _left(spent, paid, left)
            options.progress.note(f"{number}/{len(todo)} {step.label}: {said} ({rest} left)")
            task.advance(step.cost, now=step.label, left=rest)


def _left(spent: float, paid: float, left: float) -> str:
    """How long what is left may take, by what was spent so far in this run."""
    if paid < _TELLING * (paid + left):
        return "unknown time"
    seconds = max(0.0, spent / paid * left)
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min"
