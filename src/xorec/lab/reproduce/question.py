"""A question of the paper, the steps that answer it, and a run of all steps of the questions asked.

On a remote engine choices are made side by side, then all that needs them; steps that measure time
stay here. A task rebuilds the run from the parts of its data sets, does one step in one thread, and
returns the results that its cache then has, by their names: these say all that went in.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Self

from xorec.core.engine import Arrays, Engine, pickled, unpickled
from xorec.core.errors import DataError
from xorec.core.files import replacing
from xorec.core.options import RunOptions
from xorec.core.threads import LRUCache
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import QUESTIONS, Plan
from xorec.lab.reproduce.sections import Section
from xorec.models import model_class
from xorec.selection.shared_work import read_shared, shared_object, task_options

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


_ENDINGS = (".npz", ".json")
"""Of results, in the order in which they are written: one is there when its values are."""


def open_datasets(plan: Plan, cache: Cache, options: RunOptions) -> list[DatasetRun]:
    """Read and split the data sets."""
    return [DatasetRun.open(source, plan, cache, options) for source in plan.data]


def reproduce(
    plan: Plan, datasets: Sequence[DatasetRun], cache: Cache, options: RunOptions
) -> list[Section]:
    """Do all steps that are not done, and make the sections, in the order of the questions."""
    run = Run(plan, datasets, cache, replace(options, seed=plan.seed))
    asked = _asked(run)
    if not asked:
        raise DataError(
            "rq4 needs categories of items and the data have none: give a file with --item-info."
        )
    steps = [step for one in asked for step in one.steps()]
    if (engine := run.options.remote_engine) is not None:
        run_ahead(run, steps, engine)
    run_all(steps, run.options)
    return [one.section() for one in asked]


def _asked(run: Run) -> list[Question]:
    """The questions of the plan, each asked of every data set that can answer it."""
    return [one for name in run.plan.questions for one in question_class(name).of_run(run)]


def run_ahead(run: Run, steps: Sequence[Step], engine: Engine) -> None:
    """Do the steps that are not done and can be done elsewhere; their results go to the cache."""
    about = run.plan, [(one.source, one.parts) for one in run.datasets], run.options.seed
    with shared_object(engine, "run", about) as shared:
        for stage in (Stage.CHOICE, Stage.FIT):
            todo = {step.key: step for step in steps if step.stage == stage}
            waiting = [step for step in todo.values() if not step.done()]
            chosen = {"choices": pickled(_results(run.cache.folder, "choice-*"))}
            blocks = [{"key": pickled(step.key)} for step in waiting]
            made = engine.for_long_blocks().map_blocks(do_step, blocks, [shared, chosen])
            with run.options.progress.task(f"{stage.value}, elsewhere", len(waiting)) as task:
                for step, results in zip(waiting, made, strict=True):
                    _keep(run.cache.folder, unpickled(results["results"]))
                    task.advance(1, now=step.label)


_RUNS = LRUCache["_RunElsewhere"](most=1)
"""Of a process that does steps for others, by the path of the run."""


def do_step(block: Arrays, shared: Arrays) -> Arrays:
    """A block function: the results that one step adds to a cache."""
    path = str(shared["run"])
    here = _RUNS.get(path, lambda: _RunElsewhere(path))
    _keep(here.folder, unpickled(shared["choices"]))
    before = set(_results(here.folder))
    here.steps[unpickled(block["key"])].run()
    after = _results(here.folder)
    return {"results": pickled({name: after[name] for name in after if name not in before})}


class _RunElsewhere:
    """The steps of a run with a cache of this process; vectors to start from are this machine's."""

    def __init__(self, path: str) -> None:
        plan, parts, seed = read_shared(path)
        self.folder = Path(f"{path}.{os.getpid()}.cache")
        self.folder.mkdir(exist_ok=True)
        cache, options = Cache(self.folder), task_options(path, seed)
        datasets = [DatasetRun(source, one, plan, cache, options) for source, one in parts]
        for dataset in datasets:
            dataset.options = options
        asked = _asked(Run(plan, datasets, cache, options))
        self.steps = {step.key: step for one in asked for step in one.steps()}


def _results(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """The files of a cache by name."""
    found = (path for ending in _ENDINGS for path in folder.glob(f"{pattern}{ending}"))
    return {path.name: path.read_bytes() for path in found}


def _keep(folder: Path, results: dict[str, bytes]) -> None:
    """Add files to a cache."""
    for name in sorted(results, key=lambda name: _ENDINGS.index(Path(name).suffix)):
        if not (folder / name).exists():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(results[name])
