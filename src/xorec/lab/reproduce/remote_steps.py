"""Steps as tasks of a remote engine: choices side by side, then all that needs them.

A task makes the run anew from the parts of its data sets, does one step in one thread, and gives
the results that its cache then has, by their names: these say all that went in. Steps that measure
time stay where they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.engine import Arrays, Engine, pickled, unpickled
from xorec.core.files import replacing, temporary_folder
from xorec.core.options import RunOptions
from xorec.core.threads import LRUCache
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.question import Stage, Step

if TYPE_CHECKING:
    from xorec.lab.reproduce.question import Run

_ENDINGS = (".npz", ".json")
"""Of results, in the order in which they are written: one is there when its values are."""


def run_ahead(run: Run, steps: Sequence[Step], engine: Engine) -> None:
    """Do the steps that are not done and can be done elsewhere; their results go to the cache."""
    about = run.plan, [(one.source, one.parts) for one in run.datasets], run.options.seed
    with temporary_folder() as folder:
        path = folder / "run"
        path.write_bytes(pickled(about).tobytes())
        with engine.share_file("run", path) as shared:
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
    path = Path(str(shared["run"]))
    here = _RUNS.get(str(path), lambda: _RunElsewhere(path))
    _keep(here.folder, unpickled(shared["choices"]))
    before = set(_results(here.folder))
    here.step(unpickled(block["key"])).run()
    after = _results(here.folder)
    return {"results": pickled({name: after[name] for name in after if name not in before})}


class _RunElsewhere:
    """A run with a cache of this process; vectors that fits start from are this machine's."""

    def __init__(self, path: Path) -> None:
        from xorec.lab.reproduce.question import Run, question_class

        plan, parts, seed = unpickled(np.fromfile(path, np.uint8))
        self.folder = Path(f"{path}.{os.getpid()}.cache")
        self.folder.mkdir(exist_ok=True)
        cache, options = Cache(self.folder), RunOptions(seed=seed, threads=1)
        datasets = [DatasetRun(source, one, plan, cache, options) for source, one in parts]
        for dataset in datasets:
            dataset.options = replace(options, cache=Path(f"{path}.starts"))
        run = Run(plan, datasets, cache, options)
        asked = [one for name in plan.questions for one in question_class(name).of_run(run)]
        self._steps = {step.key: step for one in asked for step in one.steps()}

    def step(self, key: Any) -> Step:
        return self._steps[key]


def _results(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """The files of a cache by name."""
    found = (path for ending in _ENDINGS for path in folder.glob(f"{pattern}{ending}"))
    return {path.name: path.read_bytes() for path in found}


def _keep(folder: Path, results: dict[str, bytes]) -> None:
    """Add files to a cache."""
    for ending in _ENDINGS:
        for name, content in results.items():
            if name.endswith(ending) and not (folder / name).exists():
                with replacing(folder / name) as temporary:
                    temporary.write_bytes(content)
