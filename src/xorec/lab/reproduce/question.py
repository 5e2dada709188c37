"""A question of the paper, and the registry of all: each has a file, and a line here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Self

from xorec.core.options import RunOptions
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import QUESTIONS, Plan
from xorec.lab.reproduce.sections import Section
from xorec.lab.reproduce.steps import Step


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
