"""A run: all steps of the questions asked, and the sections that come of them.

On a remote engine choices are done side by side, then all that needs them; steps that measure time
stay here. A task makes the run anew from the parts of its data sets, does one step in one thread,
and gives the results that its cache then has, by their names: these say all that went in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xorec.core.engine import Arrays, Engine, pickled, unpickled
from xorec.core.errors import DataError
from xorec.core.files import replacing
from xorec.core.options import RunOptions
from xorec.core.threads import LRUCache
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.question import Question, Run, Stage, Step, question_class, run_all
from xorec.lab.reproduce.sections import Section
from xorec.selection.shared_work import read_shared, shared_object, task_options

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
