"""A standalone Spark cluster on loopback, in a network namespace of its own: nothing outside can
reach it, and it can reach nothing outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

MASTER = "spark://127.0.0.1:7077"
_WAIT = 240.0
_SETTINGS = """\
spark.ui.enabled false
spark.executor.memory {memory}
spark.executor.cores 1
spark.network.timeout 60s
spark.deploy.maxExecutorRetries 100
"""


def missing() -> str:
    """Why no cluster can be started here; empty where one can."""
    for program, package in (("java", "openjdk-17-jre-headless"), ("ip", "iproute2")):
        if shutil.which(program) is None:
            return f"there is no {program} here (apt install {package})"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed (pip install 'xorec[spark]')"
    if subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode:
        return "this user may not make a network namespace"
    return ""


class Cluster:
    """A master and its workers; `run` and `start` are commands inside the namespace."""

    def __init__(self, folder: Path, memory: str = "1g") -> None:
        import pyspark

        self.folder, self._home = folder, Path(pyspark.__file__).parent
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        conf = folder / "conf"
        conf.mkdir()
        (conf / "spark-defaults.conf").write_text(_SETTINGS.format(memory=memory), encoding="utf-8")
        command = "ip link set lo up && echo it is up && exec sleep 36000"
        self._holder = self._popen(["unshare", "--net", "sh", "-c", command], "holder")
        self._until("holder", "it is up", 1)
        self._popen(self._java("master.Master", "--host", "127.0.0.1", "--port", "7077"), "master")
        self._until("master", "I have been elected leader", 1)

    @property
    def environment(self) -> dict[str, str]:
        """Of all processes: where Spark is, where it writes."""
        return {
            **os.environ,
            "SPARK_HOME": str(self._home),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_PUBLIC_DNS": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }

    @property
    def pids(self) -> list[int]:
        """Of all that was started here: the namespace, the master, the workers."""
        return [process.pid for process in self._processes]

    def add_worker(self, number: int) -> None:
        """Start a worker of one core."""
        name = f"worker-{number}-{time.monotonic_ns()}"
        place = ["--host", "127.0.0.1", "-c", "1", "-m", "16g", "-d", str(self.folder / name)]
        known = self._log("master").count("Registering worker")
        self.workers[number] = self._popen(self._java("worker.Worker", *place, MASTER), name)
        self._until("master", "Registering worker", known + 1)

    def add_connect_server(self) -> str:
        """Start a server of Spark Connect with two threads of its own; its address."""
        program, kind = str(self._home / "bin" / "spark-submit"), "org.apache.spark.sql.connect"
        settings = ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
        words = [program, "--master", "local[2]", *settings]
        words += ["--class", f"{kind}.service.SparkConnectServer", "spark-internal"]
        self._popen(self.inside(["env", "SPARK_DAEMON_MEMORY=1g", *words]), "connect")
        self._until("connect", "Spark Connect server started", 1)
        return "sc://127.0.0.1:15002"

    def kill_worker(self, number: int) -> None:
        """-9 for a worker, its executors and their Python processes: as if the machine burnt."""
        for process in family(self.workers.pop(number).pid):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command, in the namespace."""
        return ["nsenter", "--target", str(self._holder.pid), "--net", *command]

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a command inside; `stop` ends it, too."""
        process = subprocess.Popen(self.inside(command), env=self.environment, **options)
        self._processes.append(process)
        return process

    def run(self, command: Sequence[str], timeout: float = 600) -> subprocess.CompletedProcess[str]:
        """Run a command inside to its end."""
        return subprocess.run(
            self.inside(command),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def stop(self) -> None:
        """End everything."""
        for process in reversed(self._processes):
            for one in family(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            process.wait()

    def _java(self, kind: str, *arguments: str) -> list[str]:
        program = str(self._home / "bin" / "spark-class")
        ports = ["--webui-port", "0"]
        return self.inside([program, f"org.apache.spark.deploy.{kind}", *ports, *arguments])

    def _popen(self, command: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],  # it ends with its parent
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _until(self, name: str, words: str, times: int) -> None:
        until = time.monotonic() + _WAIT
        while self._log(name).count(words) < times:
            if time.monotonic() > until:
                raise TimeoutError(f"{name} does not say {words!r}: {self._log(name)[-2000:]}")
            time.sleep(0.2)


@contextmanager
def running_cluster(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[Cluster]:
    """A master and workers of one core each; memory: of an executor's JVM."""
    cluster = Cluster(folder, memory)
    try:
        for number in range(workers):
            cluster.add_worker(number)
        yield cluster
    finally:
        cluster.stop()


def busiest(cluster: Cluster) -> int:
    """The number of the worker whose processes compute most, over half a second."""
    before = {number: _cpu_seconds(worker.pid) for number, worker in cluster.workers.items()}
    time.sleep(0.5)
    spent = {n: _cpu_seconds(worker.pid) - before[n] for n, worker in cluster.workers.items()}
    return max(spent, key=lambda number: spent[number])


def _cpu_seconds(pid: int) -> float:
    """Of a process and all that it has started and that is still there."""
    total = 0.0
    for one in family(pid):
        with suppress(psutil.NoSuchProcess):
            total += sum(psutil.Process(one).cpu_times()[:2])
    return total


def family(pid: int) -> list[int]:
    """A process and all that it has started, as far as it is known."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return [pid]
