"""A server in a process of its own: started, pinned to cores, watched, ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError

READY = 120.0
"""Seconds that a server may take to be ready."""
HOST = "127.0.0.1"
_INSTALLED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Modules are compiled once, as pip does when it installs: not at every start from a checkout."""


def free_port() -> int:
    """A port that no server listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """command: with its arguments; `{port}` in them is replaced. log: a file for what it prints.

    cores: that it and its children run on. As a context it ends with SIGTERM, then SIGKILL.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        *,
        port: int | None = None,
        cores: Sequence[int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = free_port() if port is None else port
        self.log = log
        self._command = [part.replace("{port}", str(self.port)) for part in command]
        self._cores = cores
        self._environment = {**os.environ, **_INSTALLED, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def __enter__(self) -> ServerProcess:
        self.start()
        self.wait_ready()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, without waiting."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        if self._cores is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, self._cores)

    def wait_ready(self) -> float:
        """Until it says so; the seconds that it took."""
        began = time.perf_counter()
        while time.perf_counter() < began + READY:
            if self.process is not None and self.process.poll() is not None:
                raise DataError(f"the server ended with {self.process.returncode}: {self.tail()}")
            if status_of(self.port, "/readyz") == 200:
                return time.perf_counter() - began
            time.sleep(0.01)
        raise DataError(f"the server was not ready after {READY:.0f} s: {self.tail()}")

    def stop(self, seconds: float = 15.0) -> int | None:
        """SIGTERM, and SIGKILL where that does not help; the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.wait()

    def kill(self) -> None:
        """SIGKILL, to it and all that it started."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def tail(self) -> str:
        """The end of what it printed."""
        return self.log.read_text(errors="replace")[-500:].strip().replace("\n", " | ")

    def processes(self) -> list[Any]:
        """psutil's, of it and its children."""
        import psutil

        try:
            parent = psutil.Process(self.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def cpu_seconds(self) -> float:
        """Of all of them, so far."""
        return sum(sum(one.cpu_times()[:2]) for one in self.processes())

    def memory_mb(self) -> float:
        """Resident; what several processes share counts once (Pss)."""
        found = self.processes()
        if len(found) == 1:
            return float(found[0].memory_info().rss / 2**20)
        return float(sum(one.memory_full_info().pss for one in found) / 2**20)

    def descriptors(self) -> int:
        """Open files and sockets of all of them."""
        return sum(one.num_fds() for one in self.processes())


def xorec_serve(model: Path, data: Path, *options: str) -> list[str]:
    """The command that serves a model file."""
    serve = [sys.executable, "-m", "xorec", "serve", str(model), "--data", str(data)]
    return [*serve, "--host", HOST, "--port", "{port}", *options]


def status_of(port: int, path: str) -> int:
    """The status of a GET; 0 where no server answers."""
    connection = HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return 0
    finally:
        connection.close()
