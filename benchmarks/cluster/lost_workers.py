"""kill -9 on a cluster: of a worker with its executor, and of the driver. The bytes stay the same.

    python benchmarks/cluster/lost_workers.py
    python benchmarks/cluster/lost_workers.py --jobs sweep,task,driver --rounds 3

Jobs: `sweep` (flip sweeps of DSIML), `blocks` (ALS), `task` (SGD as one task, which goes on from
its checkpoint), `batch` (lists for all users), `driver` (the command itself, then `--resume`). A
killed worker comes back after some seconds. Exits with 1 if a job does not end in the bytes of
threads.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.spark_cluster import MASTER, Cluster, busiest, family, missing, running_cluster

BACK = 5.0
"""Seconds until a worker that was killed is replaced."""


@dataclass(frozen=True)
class Job:
    """A command of xorec, what it writes, and when it is under way: a file that it has made, or
    words that it has said (a pattern)."""

    words: str
    output: str
    sign: str


FIT = "fit debian --seed 5 -o {out} "
JOBS = {
    "sweep": Job(
        FIT + "--model dsiml --optimizer flip --epochs 2 --bits 32", "m.xorec", "items_block"
    ),
    "blocks": Job(FIT + "--model als --epochs 12", "m.xorec", "als [1-9]"),
    "task": Job(FIT + "--model bpr --epochs 600", "m.xorec", "checkpoint"),
    "batch": Job("recommend {model} --all-users -k 100 -o {out}", "l.parquet", "writing"),
    "driver": Job(FIT + "--model als --epochs 12", "m.xorec", "checkpoint"),
}


def command(job: Job, folder: Path, output: Path, *more: str) -> list[str]:
    words = job.words.format(out=output, model=folder / "model.xorec").split()
    return [sys.executable, "-m", "xorec", *words, *more]


def wait_for(job: Job, process: subprocess.Popen[str], output: Path, log: Path) -> bool:
    """Whether the job is under way; False where it has ended before."""
    while process.poll() is None:
        if job.sign == "checkpoint" and Path(f"{output}.checkpoint").exists():
            return True
        if job.sign == "writing" and any(output.parent.glob(f".{output.name}.*")):
            return True
        if re.search(job.sign, log.read_text(encoding="utf-8")):
            return True
        time.sleep(0.05)
    return False


def killed(cluster: Cluster, name: str, folder: Path, rng: random.Random) -> str:
    """Run a job, kill in the middle; what is wrong, or nothing."""
    job = JOBS[name]
    here, there = folder / f"{name}-here-{job.output}", folder / f"{name}-there-{job.output}"
    if not here.exists():
        subprocess.run(command(job, folder, here), check=True, capture_output=True, timeout=1800)
    there.unlink(missing_ok=True)
    log = folder / "said"
    engine = ("--engine", f"spark:{MASTER}", "--partitions", "2")
    with log.open("w", encoding="utf-8") as said:
        process = cluster.start(
            command(job, folder, there, *engine), stderr=said, stdout=said, text=True
        )
    if not wait_for(job, process, there, log):
        return f"it ended before it could be killed: {log.read_text()[-300:]}"
    time.sleep(rng.uniform(0, 3))
    if name == "driver":
        for one in family(process.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait()
        done = cluster.run(command(job, folder, there, *engine, "--resume"), 1800)
        if "resumed after epoch" not in done.stderr:
            return f"it did not resume: {done.stderr[-300:]}"
        code = done.returncode
    else:
        number = busiest(cluster)
        cluster.kill_worker(number)
        time.sleep(BACK)
        cluster.add_worker(number)
        code = process.wait(1800)
    if code:
        return f"exit {code}: {log.read_text(encoding='utf-8')[-300:]}"
    return "" if here.read_bytes() == there.read_bytes() else "other bytes"


def make_model(folder: Path) -> None:
    """A model whose lists take some time: 200,000 users, 20,000 items."""
    rng = np.random.default_rng(1)
    columns = {
        "user": rng.integers(0, 200_000, 1_000_000),
        "item": rng.zipf(1.3, 1_000_000) % 20_000,
    }
    pl.DataFrame(columns).write_parquet(folder / "made.parquet")
    words = f"fit {folder / 'made.parquet'} --model als --dimensions 32 --epochs 1 -q"
    fit = [*words.split(), "-o", str(folder / "model.xorec")]
    subprocess.run([sys.executable, "-m", "xorec", *fit], check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    if why := missing():
        print(why)
        return 2
    rng, bad = random.Random(wanted.seed), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cluster").mkdir()
        if "batch" in wanted.jobs:
            make_model(folder)
        with running_cluster(folder / "cluster", workers=2) as cluster:
            for _ in range(wanted.rounds):
                for job in wanted.jobs.split(","):
                    began = time.perf_counter()
                    wrong = killed(cluster, job, folder, rng)
                    bad += bool(wrong)
                    seconds = time.perf_counter() - began
                    print(f"{job}: {wrong or 'same bytes'} ({seconds:.0f} s)", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
