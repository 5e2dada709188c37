"""A command and what it took: seconds, CPU of all its processes, peak memory by kind of process.

Sampled by psutil: processes below the command, and below those that were there before (a master,
its workers), are told apart as the driver's Python, its JVM, executors' JVMs, and Spark's Python
workers (the Python processes below a JVM).
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from tests.support.spark_cluster import Cluster

_EVERY = 0.5
"""Seconds between two looks."""


@dataclass
class Happened:
    """What a command took. Bytes are resident ones: driver and jvm of all such processes together,
    executor and worker of the largest JVM of an executor and Python worker, total of all, pages
    that several share counted once."""

    code: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    driver_bytes: int = 0
    jvm_bytes: int = 0
    executor_bytes: int = 0
    worker_bytes: int = 0
    workers: int = 0
    total_bytes: int = 0
    spark_jobs: int = 0
    spark_tasks: int = 0
    shuffle_bytes: int = 0
    said: str = ""

    def row(self) -> dict[str, Any]:
        """Flat; what was said only where it went wrong."""
        row = asdict(self)
        if not self.code:
            del row["said"]
        return row


def watch(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,
    beside: Sequence[int] = (),
) -> Happened:
    """Run a command to its end, at most so many seconds, and say what it took; `beside`: processes
    that work for it and were there before."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command],
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watcher = _Watcher(process.pid, beside)
    watcher.start()
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid in watcher.pids():
            with suppress(OSError):
                os.kill(pid, 9)
        said = (process.communicate()[0] or "") + f"\nstopped after {timeout:.0f} s"
        process.returncode = process.returncode or 124
    watcher.over.set()
    watcher.join()
    found = watcher.found
    found.code, found.seconds = process.returncode, time.perf_counter() - began
    found.cpu_seconds = watcher.cpu_seconds()
    found.said = said[-600:]
    return found


@dataclass
class EventLog:
    """Spark's own record of a run: jobs, and tasks by stage with their seconds."""

    jobs: int = 0
    shuffle_bytes: int = 0
    tasks: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> EventLog:
        """Of all logs in a folder; see `spark_configuration`."""
        found = cls()
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "spark-defaults.conf":
                with path.open(encoding="utf-8", errors="replace") as lines:
                    for line in lines:
                        found._take(json.loads(line))
        return found

    def _take(self, event: dict[str, Any]) -> None:
        if event["Event"] == "SparkListenerJobStart":
            self.jobs += 1
        if event["Event"] != "SparkListenerTaskEnd" or "Task Metrics" not in event:
            return
        about, metrics = event["Task Info"], event["Task Metrics"]
        written = int(metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"])
        self.shuffle_bytes += written
        took = (about["Finish Time"] - about["Launch Time"]) / 1000
        row = {"stage": event["Stage ID"], "seconds": took, "shuffle_bytes": written}
        row["run"] = metrics["Executor Run Time"] / 1000
        row["result_bytes"] = metrics["Result Size"]
        row["launched"], row["finished"] = about["Launch Time"], about["Finish Time"]
        self.tasks.append(row)


def spark_configuration(folder: Path, cluster: Cluster | None = None) -> dict[str, str]:
    """The environment of a command whose Spark writes an event log below `folder`, besides what the
    cluster's own configuration says."""
    logs = folder / "events"
    logs.mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file:{logs}",
    }
    text = "".join(f"{name} {value}\n" for name, value in settings.items())
    if cluster is not None:
        text += (cluster.folder / "conf" / "spark-defaults.conf").read_text(encoding="utf-8")
    (folder / "spark-defaults.conf").write_text(text, encoding="utf-8")
    return {"SPARK_CONF_DIR": str(folder)}


class _Watcher(threading.Thread):
    """Looks at a process and those below it until `over` is set."""

    def __init__(self, root: int, beside: Sequence[int]) -> None:
        super().__init__(daemon=True)
        self.root, self.over, self.found = root, threading.Event(), Happened()
        self._beside = [*beside]
        self._cpu: dict[int, float] = {}
        self._before = {one.pid: _cpu_seconds(one) for one in below(beside)}
        self._seen_workers: set[int] = set()

    def run(self) -> None:
        while not self.over.wait(_EVERY):
            self._look()

    def pids(self) -> list[int]:
        """The process and all below it, the youngest first."""
        return sorted((one.pid for one in below([self.root])), reverse=True)

    def cpu_seconds(self) -> float:
        """Of all processes, since the beginning."""
        return sum(self._cpu.values()) - sum(self._before.values())

    def _look(self) -> None:
        own = {one.pid for one in below([self.root])}
        sums, shared = {"driver": 0, "jvm": 0}, 0
        for process in below([self.root, *self._beside]):
            with suppress(psutil.Error):
                pid, name = process.pid, process.name()
                self._cpu[pid] = max(_cpu_seconds(process), self._cpu.get(pid, 0.0))
                memory = process.memory_full_info()
                shared += memory.pss
                if name == "java" and pid not in own:
                    if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                        self.found.executor_bytes = max(self.found.executor_bytes, memory.rss)
                elif name == "java":
                    sums["jvm"] += memory.rss
                elif any(one.name() == "java" for one in process.parents()):
                    self._seen_workers.add(pid)
                    self.found.worker_bytes = max(self.found.worker_bytes, memory.rss)
                elif pid in own:
                    sums["driver"] += memory.rss
        self.found.driver_bytes = max(self.found.driver_bytes, sums["driver"])
        self.found.jvm_bytes = max(self.found.jvm_bytes, sums["jvm"])
        self.found.total_bytes = max(self.found.total_bytes, shared)
        self.found.workers = len(self._seen_workers)


def below(roots: Sequence[int]) -> list[Any]:
    """psutil's processes: these and their descendants, each once."""
    found: dict[int, Any] = {}
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(root)
            found |= {one.pid: one for one in (process, *process.children(recursive=True))}
    return [*found.values()]


def _cpu_seconds(process: Any) -> float:
    """Of one process, without its children; 0 when it is gone."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0
