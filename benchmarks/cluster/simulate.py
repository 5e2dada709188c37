"""Scaling on paper and by simulation: jobs on 2 to 1,000 virtual executors, and where they bend.

    python benchmarks/cluster/simulate.py                        # steps and constants of xorec plan
    python benchmarks/cluster/simulate.py --users 100M --items 10M --pairs 10G
    python benchmarks/cluster/simulate.py --record als,lists --pairs 10M --folder /big/scale
    python benchmarks/cluster/simulate.py --picture docs/images/scale.svg

Without --log the tasks come from the plan: each block takes its share of a step, more or less as
long as rows differ (by the spread of the data). Tasks wait for the driver to launch them, one after
another, for a free slot, and for the file that all of them share, which every executor fetches from
the driver; a job ends with its last task; then the driver collects, and does its own part.

With --record the jobs are run once on a cluster of two workers, cut into --partitions. The tasks
are those of that run with their recorded seconds, stage by stage; what lay between stages is the
driver's, as recorded. Shared files go to every executor as the plan says.
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jobs import make_codes, run
from made_data import make_pairs, sizes_of
from watched import EventLog

from xorec.models import model_class
from xorec.selection.plan.constants import NETWORK_BYTES_PER_SECOND, this_machine
from xorec.selection.plan.forecast import forecast
from xorec.selection.plan.job import EngineShape, Phase, PlanInput
from xorec.selection.plan.sizes import DataSizes, given_sizes

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.spark_cluster import MASTER, running_cluster

EXECUTORS = (2, 4, 8, 16, 32, 64, 125, 250, 500, 1000)
LAUNCH = 0.002
"""Seconds between two tasks that a driver launches."""
START = ("start", "start Spark", "start workers", "read data", "write the model", "read the model")
"""Steps that are not the job's own."""
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "als": ("fit", "als", {}),
    "slim": ("fit", "slim", {}),
    "dsiml flip": ("fit", "dsiml", {"optimizer": "flip", "start": {"model": "als"}}),
    "dsiml ste": ("fit", "dsiml", {}),
    "lists": ("lists", "dsiml", {}),
    "evaluate": ("evaluate", "dsiml", {}),
}
RECORDED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "als": ("fit", "als", {"epochs": 3}),
    "slim": ("fit", "slim", {}),
    "lists": ("lists", "dsiml", {}),
    "evaluate": ("evaluate", "dsiml", {}),
}
"""As `jobs` runs them."""
REASONS = {
    "launch": "the driver launches tasks one after another",
    "latency": "jobs of Spark, one after another",
    "broadcast": "every executor fetches the shared file from the driver",
    "collect": "the driver collects results",
    "driver": "the driver's own part",
    "one": "the fit is one task of one executor",
    "few": "there are fewer blocks than slots",
    "work": "blocks of unequal length",
}


def schedule(durations: Sequence[float], slots: int, launch: float = LAUNCH) -> float:
    """When the last task ends: each waits for its launch and for the first slot that is free."""
    free = [0.0] * min(slots, len(durations))
    heapq.heapify(free)
    last = 0.0
    for number, seconds in enumerate(durations):
        begin = max(heapq.heappop(free), number * launch)
        last = max(last, begin + seconds)
        heapq.heappush(free, begin + seconds)
    return last


def simulated(step: Phase, given: PlanInput, rng: np.random.Generator) -> dict[str, float]:
    """Seconds of a step by reason."""
    engine, constants = given.engine, given.constants
    if step.in_one:
        return {"one": step.core_seconds / engine.cores, "driver": step.driver_seconds}
    jobs = max(1, step.jobs)
    parts = max(1, min(engine.slots, step.tasks))
    spread = (given.sizes.user_spread + given.sizes.item_spread) / 2
    rows = max(1.0, max(given.sizes.users, given.sizes.items) / parts)
    noise = rng.normal(1.0, min(0.3, np.sqrt((spread - 1) / rows)), parts)
    share = step.core_seconds / jobs / parts
    durations = constants.of("task_seconds") + share * np.maximum(0.05, noise)
    whole = schedule(durations.tolist(), engine.slots)
    even = step.core_seconds / jobs / engine.slots
    launching = max(0.0, schedule(durations.tolist(), engine.slots) - schedule(
        durations.tolist(), engine.slots, 0.0))  # fmt: skip
    idle = whole - launching - even
    few = "few" if step.tasks < engine.slots else "work"
    moved = step.exchanged + step.sent + step.result
    moving = moved / (constants.bytes_per_second * parts)
    return {
        "even": jobs * even + moving,
        few: jobs * max(0.0, idle),
        "launch": jobs * launching,
        "latency": step.jobs * constants.spark_job_seconds,
        "broadcast": step.shared * engine.executors / NETWORK_BYTES_PER_SECOND,
        "collect": (step.sent + step.result) / constants.of("driver_bytes_per_second"),
        "driver": step.driver_seconds,
    }


def _asked(sizes: DataSizes, executors: int, cores: int) -> PlanInput:
    engine = EngineShape("spark:paper", True, executors, cores, 1 << 40, one_machine=False)
    return PlanInput(sizes, engine, this_machine().constants)


def simulate_job(name: str, sizes: DataSizes, executors: int, cores: int) -> dict[str, float]:
    """Seconds of a job by reason."""
    job, model, settings = MODELS[name]
    given = _asked(sizes, executors, cores)
    plan = forecast(given, job, model_class(model)(**settings)).plan
    rng, total = np.random.Generator(np.random.Philox(executors)), dict[str, float]()
    for step in plan.steps:
        if step.name not in START:
            for reason, seconds in simulated(step, given, rng).items():
                total[reason] = total.get(reason, 0.0) + seconds
    return total


def recorded(name: str, wanted: argparse.Namespace) -> tuple[EventLog, DataSizes]:
    """The tasks of a job that is run now, and the sizes of its data."""
    folder, pairs = wanted.folder, given_sizes(wanted.users, wanted.items, wanted.pairs).pairs
    data = make_pairs(pairs, folder)
    make_pairs(pairs, folder, tests=True)
    work = folder / f"work-{pairs}"
    work.mkdir(exist_ok=True)
    make_codes(data, work, 3600)
    with tempfile.TemporaryDirectory(dir=folder) as place, running_cluster(Path(place)) as cluster:
        happened = run(name, data, work, f"spark:{MASTER}", 3600, cluster, wanted.partitions)
    if happened.code:
        sys.exit(f"{name}: {happened.said}")
    sizes = sizes_of(data)
    log = EventLog.read(work / f"spark-{name}" / "events")
    return log, DataSizes(sizes["users"], sizes["items"], sizes["pairs"])


def replay(
    name: str, log: EventLog, sizes: DataSizes, executors: int, cores: int
) -> dict[str, float]:
    """The recorded tasks of an event log on other slots."""
    stages: dict[float, list[dict[str, float]]] = {}
    for task in log.tasks:
        stages.setdefault(task["stage"], []).append(task)
    total = {"even": 0.0, "work": 0.0, "launch": 0.0, "driver": 0.0}
    ended = None
    for tasks in sorted(stages.values(), key=lambda own: min(one["launched"] for one in own)):
        began = min(one["launched"] for one in tasks) / 1000
        if ended is not None:
            total["driver"] += max(0.0, began - ended)
        ended = max(one["finished"] for one in tasks) / 1000
        seconds = [one["seconds"] for one in tasks]
        slots = executors * cores
        whole, freely = schedule(seconds, slots), schedule(seconds, slots, 0.0)
        even = sum(seconds) / slots
        total["even"] += even
        total["work"] += freely - even
        total["launch"] += whole - freely
    given = _asked(sizes, executors, cores)
    job, model, settings = RECORDED[name]
    steps = forecast(given, job, model_class(model)(**settings)).plan.steps
    network = NETWORK_BYTES_PER_SECOND
    total["broadcast"] = sum(step.shared for step in steps) * executors / network
    return total


def curve(name: str, seconds: dict[int, dict[str, float]]) -> dict[str, Any]:
    """Speed-ups beside one executor, where they bend (half of what is even), and why."""
    base = sum(seconds[1].values())
    rows, bend, why = [], None, ""
    for count in EXECUTORS:
        parts = seconds[count]
        speedup = base / sum(parts.values())
        rows.append({"job": name, "executors": count, "seconds": sum(parts.values()),
                     "speedup": speedup, "efficiency": speedup / count})  # fmt: skip
        if bend is None and speedup < count / 2:
            lost = {reason: value for reason, value in parts.items() if reason != "even"}
            bend, why = count, REASONS[max(lost, key=lambda reason: lost[reason])]
    return {"job": name, "rows": rows, "bend": bend, "why": why}


def draw(curves: list[dict[str, Any]], path: Path, title: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "xorec"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for at, one in enumerate(curves):
        x = [row["executors"] for row in one["rows"]]
        axes.plot(x, [row["speedup"] for row in one["rows"]], marker="osD^vP"[at % 6],
                  markersize=4, label=one["job"])  # fmt: skip
    axes.plot(EXECUTORS, EXECUTORS, color="0.7", linestyle=":", label="even")
    axes.set(xscale="log", yscale="log", xlabel="executors", ylabel="speed-up", title=title)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", default="5M")
    parser.add_argument("--items", default="100k")
    parser.add_argument("--pairs", default="100M")
    parser.add_argument("--cores", type=int, default=4, help="of an executor")
    parser.add_argument("--jobs", default=",".join(MODELS))
    parser.add_argument("--record", default="", help=f"run these once: {', '.join(RECORDED)}")
    parser.add_argument("--partitions", type=int, default=512, help="of a run that is recorded")
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    sizes = replace(given_sizes(wanted.users, wanted.items, wanted.pairs))
    curves = []
    for name in filter(None, wanted.record.split(",")):
        log, there = recorded(name, wanted)
        made = {c: replay(name, log, there, c, wanted.cores) for c in (1, *EXECUTORS)}
        curves.append(curve(name, made))
    for name in wanted.jobs.split(",") if not wanted.record else ():
        made = {c: simulate_job(name, sizes, c, wanted.cores) for c in (1, *EXECUTORS)}
        curves.append(curve(name, made))
    if wanted.picture is not None:
        draw(curves, wanted.picture, f"{wanted.pairs} pairs, {wanted.cores} cores an executor")
    if wanted.json:
        rows = [row for one in curves for row in one["rows"]]
        bends = [{name: one[name] for name in ("job", "bend", "why")} for one in curves]
        print(json.dumps({"rows": rows, "bends": bends}))
        return 0
    print("speed-up".ljust(12) + "".join(f"{count:>7}" for count in EXECUTORS))
    for one in curves:
        print(one["job"].ljust(12) + "".join(f"{row['speedup']:>7.1f}" for row in one["rows"]))
    for one in curves:
        where = "does not bend up to 1,000" if one["bend"] is None else f"bends at {one['bend']}"
        print(f"{one['job']}: {where}" + (f": {one['why']}" if one["why"] else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
