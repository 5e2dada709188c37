"""Jobs at 10 M and 100 M pairs, by threads and on Spark: CPU, memory, shuffles beside the plan.

    python benchmarks/cluster/scale.py --pairs 10000000,100000000 --folder /big/scale
    python benchmarks/cluster/scale.py --pairs 1000000 --jobs als,lists --master 'local[2]'

Without --master: a master and two workers of one core on loopback, in a network namespace. For a
quiet hour. The data are made by seed and streamed to Parquet below --folder. Every finished
row is a line of --folder/rows.jsonl; a run that was stopped goes on behind the last of them with
the same command (--again starts over). A job that takes longer than --timeout seconds is ended and
its row says so; no new job begins after --budget seconds. Kernels are compiled on small data first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jobs import JOBS, forecast_of, make_codes, run
from made_data import make_pairs, sizes_of

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.spark_cluster import MASTER, Cluster, running_cluster


def finished(path: Path) -> dict[tuple[int, str, str], dict[str, Any]]:
    """The rows that are there, by (pairs, job, engine); half a line at the end is none."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        found[row["pairs"], row["job"], row["engine"]] = row
    return found


def measured(
    pairs: int, job: str, engine: str, folder: Path, timeout: float, cluster: Cluster | None
) -> dict[str, Any]:
    """One job, and what the plan said of it."""
    data = make_pairs(pairs, folder)
    make_pairs(pairs, folder, tests=True)
    shape = ("--executors", "2", "--cores", "1") if cluster and engine != "local" else ()
    told = forecast_of(job, data, engine, *shape)["total"]
    work = folder / f"work-{pairs}"
    work.mkdir(exist_ok=True)
    if job in ("lists", "evaluate"):
        make_codes(data, work, timeout)
    happened = run(job, data, work, engine, timeout, cluster).row()
    forecast = {f"plan_{name}": value for name, value in told.items()}
    return {**sizes_of(data), **happened, **forecast, "pairs": pairs, "job": job, "engine": engine}


def compile_kernels(jobs: list[str], folder: Path, timeout: float) -> None:
    """Run the jobs on small data, so that later jobs do not wait for the compiler."""
    small = make_pairs(20_000, folder)
    make_pairs(20_000, folder, tests=True)
    warm = folder / "work-small"
    warm.mkdir(exist_ok=True)
    make_codes(small, warm, timeout)
    for job in jobs:
        run(job, small, warm, "local", timeout)


def summary(rows: dict[tuple[int, str, str], dict[str, Any]], engine: str) -> list[dict[str, Any]]:
    """A row a job: Spark beside threads, and beside the plan."""
    found = []
    for (pairs, job, where), there in sorted(rows.items()):
        here = rows.get((pairs, job, "local"), {})
        if where != engine or there["code"] or here.get("code", 1):
            continue
        found.append(
            {
                "pairs": pairs,
                "job": job,
                "cpu_local": here["cpu_seconds"],
                "cpu_spark": there["cpu_seconds"],
                "cpu_ratio": there["cpu_seconds"] / here["cpu_seconds"],
                "seconds_local": here["seconds"],
                "seconds_spark": there["seconds"],
                "driver_mb": there["driver_bytes"] / 1e6,
                "jvm_mb": there["jvm_bytes"] / 1e6,
                "executor_mb": there["executor_bytes"] / 1e6,
                "worker_mb": there["worker_bytes"] / 1e6,
                "local_mb": here["driver_bytes"] / 1e6,
                "shuffle_mb": there["shuffle_bytes"] / 1e6,
                "shuffle_plan_ratio": there["plan_shuffle_bytes"] / max(1, there["shuffle_bytes"]),
                "cpu_plan_ratio": there["plan_cpu_seconds"] / there["cpu_seconds"],
                "seconds_plan_ratio": there["plan_seconds"] / there["seconds"],
                "driver_plan_ratio": there["plan_driver_bytes"] / there["driver_bytes"],
                "local_cpu_plan_ratio": here["plan_cpu_seconds"] / here["cpu_seconds"],
                "local_seconds_plan_ratio": here["plan_seconds"] / here["seconds"],
                "local_plan_ratio": here["plan_driver_bytes"] / here["driver_bytes"],
            }
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", default="10000000,100000000")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--master", help="instead of a cluster of this command's own")
    parser.add_argument("--memory", default="3g", help="of an executor's JVM, in that cluster")
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    parser.add_argument("--timeout", type=float, default=3600, help="seconds of a job, at most")
    parser.add_argument("--budget", type=float, default=4 * 3600, help="seconds of all together")
    parser.add_argument("--again", action="store_true", help="forget the rows that are there")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    began, path = time.monotonic(), wanted.folder / "rows.jsonl"
    wanted.folder.mkdir(parents=True, exist_ok=True)
    if wanted.again:
        path.unlink(missing_ok=True)
    with ExitStack() as stack:
        cluster = None
        if wanted.master is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=wanted.folder)))
            cluster = stack.enter_context(running_cluster(folder, 2, wanted.memory))
        rows, engine = finished(path), f"spark:{wanted.master or MASTER}"
        jobs = [job for job in JOBS if job in wanted.jobs.split(",")]
        todo = [
            (pairs, job, where)
            for pairs in map(int, wanted.pairs.split(","))
            for job in jobs
            for where in ("local", engine)
            if rows.get((pairs, job, where), {"code": 1})["code"]
        ]
        if todo:
            compile_kernels(jobs, wanted.folder, wanted.timeout)
        for pairs, job, where in todo:
            if time.monotonic() - began > wanted.budget:
                print(f"the budget of {wanted.budget:.0f} s is spent: run it again to go on")
                break
            row = measured(pairs, job, where, wanted.folder, wanted.timeout, cluster)
            rows[pairs, job, where] = row
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            if not wanted.json:
                said = f" {row['said'].strip()[-200:]}" if row["code"] else ""
                print(f"{pairs:,} {job} {where}: {row.get('seconds', 0):.1f} s{said}", flush=True)
    found = summary(rows, engine)
    if wanted.json:
        print(json.dumps({"rows": found}))
    else:
        for one in found:
            print(" ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                           for k, v in one.items()))  # fmt: skip
    return int(any(row["code"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
