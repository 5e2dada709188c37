"""xorec plan: what a job would take, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.output import (
    TableColumns,
    print_json,
    print_line,
    print_rows,
    print_table,
    show_bytes,
)
from xorec.cli.settings import settings_of
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.selection.plan.constants import MachineConstants
    from xorec.selection.plan.forecast import Forecast
    from xorec.selection.plan.job import EngineShape, PlanInput
    from xorec.selection.plan.sizes import DataSizes


_ASSUMED = "dsiml"
"""What is planned where no model is named."""


@dataclass(frozen=True, kw_only=True)
class PlannedData(args.DataSource):
    """The data of a plan: DATA, or sizes alone."""

    data: str = args.argument(
        "",
        "A file, a folder, a database address, or a name from `xorec data list`; without "
        "it, give --users, --items and --pairs.",
    )
    users: str | None = args.option(None, "Without DATA: number of users, such as 100M.")
    items: str | None = args.option(None, "Without DATA: number of items, such as 10M.")
    pairs: str | None = args.option(None, "Without DATA: number of pairs, such as 10G.")

    def sizes(self, run: args.Run) -> DataSizes:
        """Of the data, or as given."""
        from xorec.selection.plan.sizes import data_sizes, given_sizes

        named = {"users": self.users, "items": self.items, "pairs": self.pairs}
        if not self.data:
            return given_sizes(**named)
        given = [name for name, value in named.items() if value is not None]
        if given:
            raise OptionError(f"--{given[0]} is for a plan without data: leave out {self.data}.")
        whole = bool(self.core) or self.min_rating is not None or self._address is not None
        return data_sizes(self.data, self.given(), lambda: self.load(run.options()), whole=whole)


@dataclass(frozen=True, kw_only=True)
class PlannedEngine:
    """Where the work would run."""

    engine: str = args.option(
        "local", "local, or spark:MASTER; for a cluster give --executors and --cores, too."
    )
    executors: int | None = args.option(None, "Executors of the cluster; 2 by default.")
    cores: int | None = args.option(None, "Cores of each; 4 by default.")
    memory: str | None = args.option(
        None, "Memory of each machine, such as 64G; this machine's by default."
    )

    def shape(self, threads: int | None) -> EngineShape:
        """How many work at the same time, with how much memory."""
        from xorec.selection.plan.job import engine_shape
        from xorec.selection.plan.sizes import parse_count

        memory = None if self.memory is None else parse_count(self.memory, "--memory")
        sizes = {"executors": self.executors, "cores": self.cores, "memory": memory}
        return engine_shape(self.engine, threads=threads, **sizes)


@args.bundled
def plan(
    *,
    context: typer.Context,
    model: str | None = args.option(None, "A name from `xorec models`; dsiml by default."),
    job: str = args.option(
        "fit", "fit, or a batch job of a code model: lists, similar or evaluate."
    ),
    k: args.K = 10,
    tested: str | None = args.option(
        None, "evaluate: number of users with test pairs, such as 500k; all by default."
    ),
    config: Path | None = args.option(None, "Settings by model, as in `xorec fit`."),
    source: Annotated[PlannedData, args.without("item_info", "max_expanded", "max_line")],
    where: PlannedEngine,
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Estimate what a job on DATA needs: memory by part, disk, shuffles, Spark jobs, minutes.

    Nothing is run. Settings of the model are given as in `xorec fit`: --epochs 20 --bits 64. The
    estimate uses the figures of `xorec bench engine` on this machine, or else those of another.
    The minutes are for machines that do nothing else.
    """
    from xorec.core.arrays import positive_int
    from xorec.models import model_class
    from xorec.selection.plan.constants import this_machine
    from xorec.selection.plan.forecast import forecast
    from xorec.selection.plan.job import PlanInput
    from xorec.selection.plan.sizes import parse_count

    if source.data.startswith("--"):  # without DATA, the first setting is taken for it
        context.args.insert(0, source.data)
        source = replace(source, data="")
    name = model or _ASSUMED
    learner = model_class(name)(**settings_of(context, name, config))
    shape, machine = where.shape(run.threads), this_machine()
    given = PlanInput(source.sizes(run), shape, machine.constants)
    users = None if tested is None else parse_count(tested, "--tested")
    found = forecast(given, job, learner, k=positive_int(k, "k"), tested=users)
    if run.json:
        print_json({**found.to_dict(), "machine": machine.about()})
        return
    if model is None and job == "fit":  # a race has no plan: its clock is its limit
        from xorec.selection.race.limits import Budget

        said = (
            f"no model named: {_ASSUMED} is assumed; fit without --model compares several (its "
            f"budget: {Budget.for_pairs(given.sizes.pairs)})."
        )
        print_line(fill(said, 80, break_on_hyphens=False))
    _print(found, given, machine)


def _print(found: Forecast, given: PlanInput, machine: MachineConstants) -> None:
    from xorec.selection.plan.forecast import advice

    sizes, engine = given.sizes, given.engine
    what = f"fit {found.model}" if found.job == "fit" else found.job
    print_line(f"{what}: {sizes.users:,} users x {sizes.items:,} items, {sizes.pairs:,} pairs")
    slots = f"{engine.slots:,} slots" if engine.is_spark else f"{engine.slots:,} threads"
    print_line(f"engine {engine.name}: {slots}, {show_bytes(engine.memory)} a machine")
    print_line()
    columns = _STEPS if engine.is_spark else dict(list(_STEPS.items())[:3])
    print_rows(found.rows(), columns)
    print_line()
    memory = [
        (one.where, one.name, show_bytes(one.bytes), one.phase)
        for one in sorted(found.plan.memory, key=lambda one: one.where)
        if one.bytes
    ]
    print_table(("memory of", "part", "bytes", "while"), memory, right=("bytes",))
    print_line()
    _print_totals(found)
    notes = [*(advice(found) or ["It fits."]), *([f"({machine.note}.)"] if machine.note else [])]
    for line in notes:
        print_line(fill(line, 80, break_on_hyphens=False))


def _print_totals(found: Forecast) -> None:
    steps, plan = found.plan.steps, found.plan
    peaks = ", ".join(f"{name} {show_bytes(count)}" for name, count in found.machine_bytes.items())
    print_line(f"time {_time(found.total_seconds)}, {found.total_cpu_seconds:,.0f} core seconds")
    print_line(f"peak memory by machine: {peaks}")
    print_line(f"disk {show_bytes(plan.disk)}, for a while {show_bytes(plan.scratch)}")
    if found.given.engine.is_spark:
        jobs, stages = sum(one.jobs for one in steps), sum(one.stages for one in steps)
        count, shuffled = f"{jobs:,} job{'' if jobs == 1 else 's'}", found.total_shuffle_bytes
        print_line(f"Spark: {count}, {stages:,} stages, {show_bytes(shuffled)} shuffled")


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _size(count: int) -> str:
    return show_bytes(count) if count else ""


_STEPS: TableColumns = {
    "step": ("step", str),
    "time": ("seconds", _time),
    "cores x s": ("cpu_seconds", "{:,.1f}".format),
    "jobs": ("spark_jobs", lambda count: f"{count:,}" if count else ""),
    "shared": ("shared_bytes", _size),
    "shuffled": ("shuffle_bytes", _size),
}
"""Columns of the table of steps; the last three are of Spark."""
