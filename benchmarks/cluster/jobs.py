"""The jobs that forecasts are held against: their commands, their forecasts, what happened."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from made_data import MOST_TESTED
from watched import EventLog, Happened, spark_configuration, watch

if TYPE_CHECKING:
    from tests.support.spark_cluster import Cluster

SWEEPS = "--model dsiml --optimizer flip --start.model als --start.epochs 2 --epochs 1"
FITS = {
    "als": "--model als --epochs 3",
    "slim": "--model slim",
    "flip": f"{SWEEPS} --negatives 5",
    "flip-1": f"{SWEEPS} --negatives 1",
}
JOBS = (*FITS, "lists", "evaluate")
CODES = "--model dsiml --optimizer none --start.model als --start.epochs 1"
"""The model that lists and evaluate take."""


def command(job: str, data: Path, folder: Path, engine: str, partitions: int = 0) -> list[str]:
    """What runs; models and lists go to `folder`, tests lie beside the data."""
    model = str(folder / "codes.xorec")
    words = {
        "lists": ["recommend", model, "--all-users", "-o", str(folder / "lists.parquet")],
        "evaluate": ["evaluate", model, str(data).replace("pairs-", "tests-")],
    }
    settings = {**FITS, "codes": CODES}.get(job)
    if settings is not None:
        words[job] = ["fit", str(data), *settings.split(), "-o", str(folder / f"{job}.xorec")]
    where = [] if engine == "local" else ["--engine", engine]
    where += ["--partitions", str(partitions)] if where and partitions else []
    return [sys.executable, "-m", "xorec", *words[job], *where, "-q"]


def forecast_of(job: str, data: Path, engine: str, *more: str) -> dict[str, Any]:
    """What `xorec plan` says before; more: of its options."""
    settings = FITS[job].split() if job in FITS else ["--job", job]
    if job == "evaluate":
        settings += ["--tested", str(MOST_TESTED)]
    words = ["plan", str(data), *settings, "--engine", engine, *more, "--json"]
    told = subprocess.run(
        [sys.executable, "-m", "xorec", *words], check=True, capture_output=True, text=True
    )
    return dict(json.loads(told.stdout))


def make_codes(data: Path, folder: Path, timeout: float) -> None:
    """The model of `lists` and `evaluate`, where it is not there yet."""
    if not (folder / "codes.xorec").exists():
        made = run("codes", data, folder, "local", timeout)
        if made.code:
            sys.exit(f"no model of codes: {made.said}")


def run(
    job: str,
    data: Path,
    folder: Path,
    engine: str,
    timeout: float,
    cluster: Cluster | None = None,
    partitions: int = 0,
) -> Happened:
    """Run it, with Spark's event log where there is Spark; the log stays in `folder`/spark-JOB.

    cluster: where `engine` is; its processes count, too.
    """
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    words = command(job, data, folder, engine, partitions)
    beside, logs = list[int](), folder / f"spark-{job}"
    if engine != "local":
        shutil.rmtree(logs, ignore_errors=True)
        if cluster is not None:
            words, beside, env = cluster.inside(words), cluster.pids, {**cluster.environment, **env}
        env |= spark_configuration(logs, cluster)
    happened = watch(words, env=env, timeout=timeout, beside=beside)
    if engine != "local" and happened.code == 0:
        log = EventLog.read(logs / "events")
        happened.spark_jobs, happened.spark_tasks = log.jobs, len(log.tasks)
        happened.shuffle_bytes = log.shuffle_bytes
    return happened
