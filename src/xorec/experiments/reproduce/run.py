"""A run: all steps of the questions asked, and the sections that come of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.prepare import prepare
from xorec.data.split import Method, split
from xorec.experiments.reproduce import rq1_hashing, rq2_continuous, rq4_imbalance, rq5_sensitivity
from xorec.experiments.reproduce.cache import Cache
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.plan import Plan, Source
from xorec.experiments.reproduce.sections import Section
from xorec.experiments.reproduce.speed.steps import Speed
from xorec.experiments.reproduce.steps import Step, run_all


class _HasSteps(Protocol):
    def steps(self) -> Iterator[Step]: ...


@dataclass(frozen=True, eq=False)
class Experiment:
    """One question on one data set (rq3: on none): what has to be done, what came out."""

    work: _HasSteps
    make: Callable[[Any], Section]

    def section(self) -> Section:
        """Of finished steps."""
        return self.make(self.work)


def open_labs(plan: Plan, cache: Cache, options: RunOptions) -> list[Lab]:
    """Read and split the data sets."""
    return [_open(source, plan, cache, options) for source in plan.data]


def _open(source: Source, plan: Plan, cache: Cache, options: RunOptions) -> Lab:
    """Read a data set and split it: as its file says, or at random."""
    data = load_data(
        source.path, threads=options.threads, progress=options.progress, **source.columns
    )
    data = prepare(data, min_rating=source.min_rating, core=source.core)
    for note in data.notes:
        options.progress.note(f"{source.name}: {note}")
    method: Method = "random" if data.parts is None else "given"
    parts = split(data, method=method, test=plan.test, validation=plan.validation, seed=plan.seed)
    return Lab(source, parts, plan, cache, options)


def experiments(
    plan: Plan, labs: Sequence[Lab], cache: Cache, options: RunOptions
) -> list[Experiment]:
    """In the order of the questions."""
    found: list[Experiment] = []
    for question in plan.questions:
        if question == "rq3":
            speed = Speed(plan, labs, cache, options)
            found.append(Experiment(speed, Speed.section))
        for lab in labs:
            if question == "rq1":
                found.append(Experiment(rq1_hashing.contest(lab), rq1_hashing.section))
            elif question == "rq2":
                found.append(Experiment(rq2_continuous.contest(lab), rq2_continuous.section))
            elif question == "rq4" and lab.everything.categories is not None:
                found.append(Experiment(rq4_imbalance.Imbalance(lab), rq4_imbalance.section))
            elif question == "rq5":
                work = rq5_sensitivity.Sensitivity(lab)
                found.append(Experiment(work, rq5_sensitivity.section))
    return found


def reproduce(plan: Plan, labs: Sequence[Lab], cache: Cache, options: RunOptions) -> list[Section]:
    """Do all steps that are not done, and make the sections."""
    options = replace(options, seed=plan.seed)
    todo = experiments(plan, labs, cache, options)
    if not todo:
        raise DataError(
            "rq4 needs categories of items and the data have none: give a file with --item-info."
        )
    if "rq4" in plan.questions:
        for lab in labs:
            if lab.everything.categories is None:
                options.progress.note(f"rq4 leaves {lab.name} out: it has no categories of items.")
    run_all([step for one in todo for step in one.work.steps()], options)
    return [one.section() for one in todo]
