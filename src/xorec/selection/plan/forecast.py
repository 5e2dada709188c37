"""A forecast: the steps and memory of a job on an engine, with seconds, sums and a verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean
from xorec.evaluation.rankings import BLOCK_BYTES
from xorec.recommender.batch import BLOCK_HITS
from xorec.selection.plan.constants import NETWORK_BYTES_PER_SECOND, SHUFFLE_RATIO
from xorec.selection.plan.fits import FITS, code_bytes, stored_code_bytes
from xorec.selection.plan.job import (
    JobPlan,
    Memory,
    Phase,
    PlanInput,
    Where,
    model_bytes,
    waves,
)

_TEST_SHARE = 0.2
_US_APART = 0.5
"""Microseconds of a pair, learned or tested, until it is known which of them are new."""
_START = 0.6
"""Of the start of a fit: no model learns, few kernels are loaded."""


def plan_lists(given: PlanInput, what: str, k: int, bits: int) -> JobPlan:
    """`recommend --all-users` (lists) or `similar --all-items` (neighbours), in blocks of rows."""
    sizes, constants = given.sizes, given.constants
    queries = sizes.users if what == "lists" else sizes.items
    words, size = -(-bits // 64), max(1, BLOCK_HITS // k)
    blocks = -(-queries // size)
    one = 1e-6 * constants.of("us_list") + 1e-9 * constants.ns_list_word * words * sizes.items
    writing = 1e-6 * constants.of("us_list_row") * queries * k
    file = model_bytes(sizes, stored_code_bytes(sizes, bits))
    result = 12 * k * size
    step = Phase(what, one * queries, blocks if given.remote else given.engine.cores, writing)
    memory = [
        *given.processes(),
        Memory("driver", "the model, mapped", file),
        Memory("driver", "a block of lists and its rows", 8 * result),
    ]
    if given.remote:
        jobs, found = waves(blocks, given.engine.slots, result), 12 * k * queries
        sent = 16 * blocks
        step = replace(step, jobs=jobs, stages=2 * jobs, shared=file, sent=sent, result=found)
        held = min(found, max(given.engine.slots * result, 256 << 20))
        mapped = file + code_bytes(sizes, bits)
        memory += [
            Memory("driver", "lists of a job", 2 * held),
            *given.passing([step]),
            Memory("worker", "the model and its index, mapped", mapped),
        ]
    steps = (*given.start(_START), _read_model(given), step)
    return JobPlan(steps, tuple(memory), (k + 1) * 8 * queries, file if given.remote else 0)


def plan_evaluation(given: PlanInput, bits: int, tested: int | None = None) -> JobPlan:
    """`evaluate`: all scores of every user with test pairs, a block at a time.

    The sizes are those of what the model has learned from. tested: users with test pairs, all
    where it is not said; they have a fifth as many test pairs as others.
    """
    sizes, constants = given.sizes, given.constants
    users = min(sizes.users, tested or sizes.users)
    size = min(1024, max(32, BLOCK_BYTES // (4 * sizes.items)))
    blocks = -(-users // size)
    each = 1e-6 * constants.of("us_ranked") + 1e-9 * constants.of("ns_score") * sizes.items
    file = model_bytes(sizes, stored_code_bytes(sizes, bits))
    theirs = sizes.pairs * users // sizes.users
    tests = round(_TEST_SHARE * theirs)
    read_asked = replace(given, sizes=replace(sizes, pairs=tests))
    memory = [
        *given.processes(),
        Memory("driver", "the model", file),
        Memory("driver", "pairs, to be counted by item", 8 * sizes.pairs),
        *read_asked.reading(),
        Memory("driver", "ranks of test pairs", 24 * tests + 64 * users),
        Memory("driver", "scores of blocks", BLOCK_BYTES * 2 * given.engine.cores)
        if not given.remote
        else Memory("driver", "blocks on their way", 4 * theirs + 32 * users),
    ]
    step = Phase("rank and measure", users * each, blocks)
    if given.remote:
        sent = 4 * (theirs + tests) + 20 * users
        result = 24 * tests + (200 + 4 * 50) * users
        jobs = waves(blocks, given.engine.slots, result // blocks)
        shared = code_bytes(sizes, bits) + 8 * sizes.items
        step = replace(step, jobs=jobs, stages=2 * jobs, shared=shared, sent=sent, result=result)
        memory.append(given.collected("ranks of a job", result))
        memory += given.passing([step])
        memory.append(Memory("worker", "scores of a block", 3 * 4 * size * sizes.items))
    read = _read_model(given, 1e-6 * _US_APART * (sizes.pairs + tests))
    return JobPlan((*given.start(), read, read_asked.read(), step), tuple(memory))


def _read_model(given: PlanInput, more: float = 0.0) -> Phase:
    """Checking and opening the file; the index; and so many seconds more."""
    seconds = 0.2e-6 * given.constants.of("us_save_pair") * given.sizes.pairs
    return Phase("read the model", driver_seconds=seconds + more)


_MOST_SHARE = 0.9
"""Of a machine's memory: the rest is the system's."""
_LONG = 24 * 3600.0
_PROCESSES: dict[str, tuple[Where, ...]] = {
    "driver": ("driver",),
    "executor": ("jvm", "worker"),
    "all": ("driver", "jvm", "worker"),
}
"""Of each machine."""
_CHANGES = {
    "triplets by user and by item": "fewer --negatives, or --engine spark:... for sweeps in blocks",
    "items by items": "at most 16,384 items are counted as a whole: --core leaves out rare ones",
    "items by items, mapped": "at most 16,384 items are counted as a whole: --core leaves out rare "
    "ones",
    "all pairs, mapped": "every executor maps all pairs of slim and item-knn: als and dsiml do not",
    "vectors": "fewer --dimensions",
    "the other side, turned": "fewer --dimensions",
    "the other side, mapped": "fewer --dimensions, or executors with more memory",
    "rows as they are turned": "fewer --bits; the driver holds float rows of all "
    "users while codes are learned",
    "rows and their gradients": "fewer --dimensions; dsiml with --optimizer flip --start.model als "
    "keeps rows off the executors",
    "pairs, rows and their gradients": "this fit is one task with all pairs: als, or dsiml with "
    "--optimizer flip --start.model als, run in blocks",
    "reading": "read fewer columns or rows, or on Spark (--engine) where the log lies",
    "pairs by user": "the driver holds 4 bytes a pair: a driver with more memory, or --core",
    "pairs by item": "the driver holds 16 bytes a pair for the other order: a larger driver",
    "seen lists for the model file": "the file holds what everybody has seen: a larger driver",
    "blocks and results that pass": "fewer --negatives or --dimensions, or more executors",
    "the model and its index, mapped": "every executor maps the model file, seen lists and all",
}


def advice(forecast: Forecast) -> list[str]:
    """Nothing where all is well; otherwise what is too much, and what would help."""
    engine, found = forecast.given.engine, []
    room = _MOST_SHARE * engine.memory
    for machine, needed in forecast.machine_bytes.items():
        if needed > room:
            wheres = _PROCESSES["all" if engine.one_machine else machine]
            parts = [part for part in forecast.plan.memory if part.where in wheres]
            largest = sorted(parts, key=lambda part: -part.bytes)[:2]
            there = f"the {machine} has {engine.memory / 1e9:,.1f}"
            what = f"{needed / 1e9:,.1f} GB are needed and {there}"
            changes = dict.fromkeys(
                f"{part.name} ({part.bytes / 1e9:,.1f} GB): {_CHANGES[part.name]}"
                for part in largest
                if part.name in _CHANGES
            )
            found.append(f"{what}. {'; '.join(changes) or 'take a larger machine'}.")
    if forecast.total_seconds > _LONG:
        slowest = max(forecast.plan.steps, key=forecast.seconds)
        hours = forecast.total_seconds / 3600
        found.append(f"it takes {hours:,.0f} h: {_slow(forecast, slowest)}.")
    return found


def _slow(forecast: Forecast, step: Phase) -> str:
    engine = forecast.given.engine
    if step.in_one and engine.is_spark:
        return f"{step.name!r} runs on the {engine.cores} cores of one executor, whatever the rest"
    if step.driver_seconds > step.core_seconds / max(1, engine.slots):
        return f"{step.name!r} is done by the driver alone: more executors do not help"
    if step.tasks < engine.slots:
        return f"{step.name!r} has {step.tasks:,} blocks for {engine.slots:,} slots"
    return f"{step.name!r} takes most: more executors, fewer epochs or negatives"


JOBS = ("fit", "lists", "similar", "evaluate")


@dataclass(frozen=True)
class Forecast:
    """What was given, the plan, and what follows from both."""

    job: str
    model: str
    given: PlanInput
    plan: JobPlan

    def seconds(self, step: Phase) -> float:
        """By the clock, on machines that do nothing else."""
        engine, constants = self.given.engine, self.given.constants
        if not engine.is_spark:
            workers = engine.cores if step.in_one else min(engine.cores, step.tasks)
            return step.driver_seconds + step.core_seconds / max(1, workers)
        workers = engine.cores if step.in_one else min(engine.slots, step.tasks)
        waiting = step.jobs * (constants.spark_job_seconds + constants.of("task_seconds"))
        moved = step.sent + step.result + step.exchanged
        moving = moved / (constants.bytes_per_second * max(1, workers))
        moving += (step.sent + step.result) / constants.of("driver_bytes_per_second")
        brought = step.shared / constants.of("file_bytes_per_second")
        if not engine.one_machine:
            brought += step.shared * engine.executors / NETWORK_BYTES_PER_SECOND
        work = step.core_seconds / max(1, workers)
        return step.driver_seconds + work + waiting + moving + brought

    def cpu_seconds(self, step: Phase) -> float:
        """Of all processes together."""
        engine, constants = self.given.engine, self.given.constants
        found = step.driver_seconds + step.core_seconds
        if engine.is_spark:
            tasks = step.stages * min(step.tasks, engine.slots)
            found += step.jobs * constants.spark_job_seconds + tasks * constants.of("task_seconds")
            moved = step.sent + step.result + step.exchanged
            found += moved / constants.bytes_per_second
            found += step.shared * engine.executors / constants.of("file_bytes_per_second")
        return found

    def shuffle_bytes(self, step: Phase) -> int:
        """As Spark writes them: blocks that are placed are shuffled, too."""
        return round(SHUFFLE_RATIO * (step.sent + step.exchanged))

    @property
    def total_seconds(self) -> float:
        """Of all steps; `total_` as `seconds`, `cpu_seconds` and `shuffle_bytes` of a step."""
        return sum(self.seconds(step) for step in self.plan.steps)

    @property
    def total_cpu_seconds(self) -> float:
        return sum(self.cpu_seconds(step) for step in self.plan.steps)

    @property
    def total_shuffle_bytes(self) -> int:
        return sum(self.shuffle_bytes(step) for step in self.plan.steps)

    def peak(self, where: Where) -> int:
        """Bytes of one such process: what is always held, and the phase that holds most besides."""
        phases = Counter({"": 0})
        for part in self.plan.memory:
            if part.where == where:
                phases[part.phase] += part.bytes
        always = phases.pop("")
        return always + max(phases.values(), default=0)

    @property
    def machine_bytes(self) -> dict[str, int]:
        """Peak of each machine: the driver's, and an executor's where that is another."""
        driver, engine = self.peak("driver"), self.given.engine
        if not engine.is_spark:
            return {"driver": driver}
        mapped = sum(
            part.bytes
            for part in self.plan.memory
            if part.where == "worker" and part.name.endswith("mapped")
        )
        worker = self.peak("worker") - mapped
        workers = 1 if any(step.in_one for step in self.plan.steps) else engine.cores
        executor = self.peak("jvm") + workers * worker + mapped
        if engine.one_machine:
            return {"driver": driver + executor}
        return {"driver": driver + self.peak("jvm"), "executor": executor}

    def rows(self) -> list[dict[str, Any]]:
        """A flat row a step."""
        return [
            {
                "step": step.name,
                "seconds": self.seconds(step),
                "cpu_seconds": self.cpu_seconds(step),
                "driver_seconds": step.driver_seconds,
                "core_seconds": step.core_seconds,
                "tasks": step.tasks,
                "spark_jobs": step.jobs,
                "spark_stages": step.stages,
                "shared_bytes": step.shared,
                "sent_bytes": step.sent,
                "exchanged_bytes": step.exchanged,
                "result_bytes": step.result,
                "shuffle_bytes": self.shuffle_bytes(step),
            }
            for step in self.plan.steps
        ]

    def to_dict(self) -> dict[str, Any]:
        """The one JSON shape."""
        engine, steps = self.given.engine, self.plan.steps
        told = advice(self)
        return {
            "job": self.job,
            "model": self.model,
            "data": asdict(self.given.sizes),
            "engine": {
                **{name: getattr(engine, name) for name in ("name", "executors", "cores")},
                "machine_bytes": engine.memory,
            },
            "rows": self.rows(),
            "memory": [
                {"where": one.where, "part": one.name, "bytes": one.bytes, "phase": one.phase}
                for one in self.plan.memory
            ],
            "total": {
                "seconds": self.total_seconds,
                "cpu_seconds": self.total_cpu_seconds,
                **{f"{name}_bytes": self.peak(name) for name in _PROCESSES["all"]},
                "machine_bytes": max(self.machine_bytes.values()),
                "disk_bytes": self.plan.disk,
                "scratch_bytes": self.plan.scratch,
                "shuffle_bytes": self.total_shuffle_bytes,
                "spark_jobs": sum(step.jobs for step in steps),
                "spark_stages": sum(step.stages for step in steps),
            },
            "fits": not told,
            "advice": told,
        }


def forecast(
    given: PlanInput,
    job: str,
    model: Any,
    *,
    k: int = 10,
    bits: int | None = None,
    tested: int | None = None,
) -> Forecast:
    """model: not fitted; its settings count. k: of lists; bits: of the codes that are searched;
    tested: users of an evaluation, all where it is not said."""
    if job not in JOBS:
        raise OptionError(
            f"--job is {job!r}: give one of {', '.join(JOBS)}.{did_you_mean(job, JOBS)}"
        )
    searched: int = getattr(model.config, "bits", 64) if bits is None else bits
    if job == "fit":
        plan = FITS[model.work](given, model)
    elif job == "evaluate":
        plan = plan_evaluation(given, searched, tested)
    else:
        plan = plan_lists(given, "lists" if job == "lists" else "neighbours", k, searched)
    return Forecast(job, model.name, given, plan)
