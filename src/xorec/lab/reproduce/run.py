"""A run: all steps of the questions asked, and the sections that come of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.question import Run, question_class, run_all
from xorec.lab.reproduce.remote_steps import run_ahead
from xorec.lab.reproduce.sections import Section


def open_datasets(plan: Plan, cache: Cache, options: RunOptions) -> list[DatasetRun]:
    """Read and split the data sets."""
    return [DatasetRun.open(source, plan, cache, options) for source in plan.data]


def reproduce(
    plan: Plan, datasets: Sequence[DatasetRun], cache: Cache, options: RunOptions
) -> list[Section]:
    """Do all steps that are not done, and make the sections, in the order of the questions."""
    run = Run(plan, datasets, cache, replace(options, seed=plan.seed))
    asked = [one for name in plan.questions for one in question_class(name).of_run(run)]
    if not asked:
        raise DataError(
            "rq4 needs categories of items and the data have none: give a file with --item-info."
        )
    steps = [step for one in asked for step in one.steps()]
    if (engine := run.options.remote_engine) is not None:
        run_ahead(run, steps, engine)
    run_all(steps, run.options)
    return [one.section() for one in asked]
