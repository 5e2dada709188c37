"""A question of the paper, and the registry of all: each has a file, and a line here."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import Self

from xorec.core.options import RunOptions
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import QUESTIONS, Plan
from xorec.lab.reproduce.sections import Section
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
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"


@dataclass(frozen=True, eq=False)
class Run:
    """A run of a plan: the data sets that it has opened, where results are kept, and options."""

    plan: Plan
    datasets: Sequence[DatasetRun]
    cache: Cache
    options: RunOptions


class Question(ABC):
    """What has to be done to answer a question, and the section that comes of it."""

    @classmethod
    @abstractmethod
    def of_run(cls, run: Run) -> list[Self]:
        """The question, asked of every data set of a run that can answer it."""

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        """The methods whose settings are chosen for it."""
        return ()

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """What has to be done."""

    @abstractmethod
    def section(self) -> Section:
        """Of finished steps."""


class DatasetQuestion(Question):
    """A question that is asked of one data set."""

    def __init__(self, dataset: DatasetRun) -> None:
        self.dataset = dataset

    @classmethod
    def of_run(cls, run: Run) -> list[Self]:
        return [cls(dataset) for dataset in run.datasets]


def question_class(name: str) -> type[Question]:
    """The class of a question called `name`, such as rq1."""
    module = import_module(f"xorec.lab.reproduce.{QUESTIONS[name]}")
    found: type[Question] = module.QUESTION
    return found
