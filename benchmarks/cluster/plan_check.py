"""`xorec plan` against what happened: five jobs on made data, by threads and on Spark.

    python benchmarks/cluster/plan_check.py --pairs 1000000 --json
    python benchmarks/cluster/plan_check.py --engines local --jobs als,lists

Each job runs once before the clock where --warm says so, so that kernels are compiled. Forecast and
what happened stand beside each other with their ratios: CPU seconds of all processes, seconds by
the clock, peak memory by kind of process, bytes of shuffles, jobs of Spark. On a busy machine only
CPU seconds and bytes mean something.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from jobs import JOBS, forecast_of, make_codes, run
from made_data import make_pairs, sizes_of

COMPARED = (
    "cpu_seconds",
    "seconds",
    "driver_bytes",
    "jvm_bytes",
    "worker_bytes",
    "shuffle_bytes",
    "spark_jobs",
)
SHOWN = ("cpu_seconds", "seconds", "driver_bytes", "jvm_bytes", "worker_bytes", "shuffle_bytes")


def check(job: str, data: Path, folder: Path, engine: str, timeout: float) -> dict[str, Any]:
    """One job on one engine, before and after."""
    told = forecast_of(job, data, engine)["total"]
    happened = run(job, data, folder, engine, timeout).row()
    row: dict[str, Any] = {"job": job, "engine": engine, "code": happened["code"]}
    for name in COMPARED:
        row[f"{name}_forecast"], row[name] = told[name], happened[name]
        row[f"{name}_ratio"] = told[name] / happened[name] if happened[name] else None
    if happened["code"]:
        row["said"] = happened["said"]
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--engines", default="local,spark:local[2]")
    parser.add_argument("--folder", type=Path, help="keeps data, models and logs")
    parser.add_argument("--timeout", type=float, default=900, help="seconds of a job, at most")
    parser.add_argument("--warm", action="store_true", help="run every job on small data first")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = wanted.folder or Path(name)
        data = make_pairs(wanted.pairs, folder)
        make_pairs(wanted.pairs, folder, tests=True)
        jobs = wanted.jobs.split(",")
        if wanted.warm:
            small = make_pairs(20_000, folder)
            make_pairs(20_000, folder, tests=True)
            warm = folder / "small"
            warm.mkdir(exist_ok=True)
            make_codes(small, warm, wanted.timeout)
            for job in jobs:
                run(job, small, warm, "local", wanted.timeout)
        make_codes(data, folder, wanted.timeout)
        for engine in wanted.engines.split(","):
            for job in jobs:
                rows.append(check(job, data, folder, engine, wanted.timeout))
                if not wanted.json:
                    show(rows[-1])
        if wanted.json:
            print(json.dumps({"data": sizes_of(data), "rows": rows}))
    return int(any(row["code"] for row in rows))


def show(row: dict[str, Any]) -> None:
    print(f"{row['job']} on {row['engine']}" + (f": {row['said']}" if row["code"] else ""))
    for name in SHOWN:
        if row[name]:
            scale = 1e6 if name.endswith("bytes") else 1
            unit = "MB" if name.endswith("bytes") else "s"
            print(
                f"  {name:<14} forecast {row[f'{name}_forecast'] / scale:>9,.1f} {unit:<2}"
                f"  happened {row[name] / scale:>9,.1f} {unit:<2}  ratio {row[f'{name}_ratio']:.2f}"
            )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
