"""A forecast: the steps and memory of a job on an engine, with seconds, sums and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean
from xorec.selection.plan.als_plan import plan_als
from xorec.selection.plan.asked import Asked
from xorec.selection.plan.codes_plan import plan_dsiml
from xorec.selection.plan.lists_plan import plan_evaluation, plan_lists, plan_similar
from xorec.selection.plan.neighbours_plan import plan_item_knn, plan_slim
from xorec.selection.plan.one_task_plan import plan_one_task
from xorec.selection.plan.parts import JobPlan, Step, Where, peak

FITS: dict[str, Callable[[Asked, Any], JobPlan]] = {
    "als": plan_als,
    "slim": plan_slim,
    "item-knn": plan_item_knn,
    "dsiml": plan_dsiml,
}
"""Models that cut their work into blocks; all others are fits in one piece."""
JOBS = ("fit", "lists", "similar", "evaluate")


@dataclass(frozen=True)
class Forecast:
    """What was asked, the plan, and what follows from both."""

    job: str
    model: str
    asked: Asked
    plan: JobPlan

    def seconds(self, step: Step) -> float:
        """By the clock, where nobody else uses the machines."""
        engine, constants = self.asked.engine, self.asked.constants
        if not engine.is_spark:
            workers = engine.cores if step.in_one else min(engine.cores, step.tasks)
            return step.driver_seconds + step.core_seconds / max(1, workers)
        workers = engine.cores if step.in_one else min(engine.slots, step.tasks)
        waiting = step.jobs * (constants.spark_job_seconds + constants.task_seconds)
        moved = step.sent + step.result + step.exchanged
        moving = moved / (constants.bytes_per_second * max(1, workers))
        moving += (step.sent + step.result) / constants.driver_bytes_per_second
        brought = step.shared / constants.file_bytes_per_second
        if not engine.one_machine:
            brought += step.shared * engine.executors / constants.network_bytes_per_second
        work = step.core_seconds / max(1, workers)
        return step.driver_seconds + work + waiting + moving + brought

    def cpu_seconds(self, step: Step) -> float:
        """Of all processes together."""
        engine, constants = self.asked.engine, self.asked.constants
        found = step.driver_seconds + step.core_seconds
        if engine.is_spark:
            tasks = step.stages * min(step.tasks, engine.partitions)
            found += step.jobs * constants.spark_job_seconds + tasks * constants.task_seconds
            moved = step.sent + step.result + step.exchanged
            found += moved / constants.bytes_per_second
            found += step.shared * engine.executors / constants.file_bytes_per_second
        return found

    def shuffle_bytes(self, step: Step) -> int:
        """As Spark writes them: blocks that are placed are shuffled, too."""
        return round(self.asked.constants.shuffle_ratio * (step.sent + step.exchanged))

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds(step) for step in self.plan.steps)

    @property
    def total_cpu_seconds(self) -> float:
        return sum(self.cpu_seconds(step) for step in self.plan.steps)

    @property
    def total_shuffle_bytes(self) -> int:
        return sum(self.shuffle_bytes(step) for step in self.plan.steps)

    def peak(self, where: Where) -> int:
        """Bytes of one such process."""
        return peak(self.plan.memory, where)

    @property
    def machine_bytes(self) -> dict[str, int]:
        """Peak of each machine: the driver's, and an executor's where that is another."""
        driver, engine = self.peak("driver"), self.asked.engine
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
        from xorec.selection.plan.verdict import advice

        engine, steps = self.asked.engine, self.plan.steps
        told = advice(self)
        return {
            "job": self.job,
            "model": self.model,
            "data": self.asked.sizes.row(),
            "engine": {
                "name": engine.name,
                "executors": engine.executors,
                "cores": engine.cores,
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
                "driver_bytes": self.peak("driver"),
                "jvm_bytes": self.peak("jvm"),
                "worker_bytes": self.peak("worker"),
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
    asked: Asked,
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
        make = FITS.get(model.name)
        plan = plan_one_task(asked, model) if make is None else make(asked, model.config)
    elif job == "lists":
        plan = plan_lists(asked, k, searched)
    elif job == "similar":
        plan = plan_similar(asked, k, searched)
    else:
        plan = plan_evaluation(asked, searched, tested)
    return Forecast(job, model.name, asked, plan)
