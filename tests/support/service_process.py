"""A service for tests: a real one in a process of its own, or its app without a socket."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from unittest import mock

import httpx

from tests.support.waiting import PATIENCE, until
from xorec.service.api.health import health_routes
from xorec.service.config import Config
from xorec.service.http.app import App, WorkerHealth
from xorec.service.http.routes import Route
from xorec.service.http.server import HttpServer, address, reserve
from xorec.service.metrics import Metrics
from xorec.service.settings import PREFIX

START, END = 300.0, 120.0
"""Seconds after which a start (kernels may have to be compiled) or an end is taken for hung."""


@dataclass
class RunningService:
    """process: of `xorec serve`. printed: the file of its standard output; beside it is `.err`, of
    standard error. base_url: where it is."""

    process: subprocess.Popen[bytes]
    printed: Path
    base_url: str = ""

    @property
    def lines(self) -> list[str]:
        """What it has printed on standard output so far."""
        return self.printed.read_text().splitlines(keepends=True)

    @property
    def errors(self) -> str:
        """What it has printed on standard error so far."""
        return self.printed.with_suffix(".err").read_text()

    def client(self, **settings: Any) -> httpx.Client:
        """An HTTP client for it."""
        return httpx.Client(base_url=self.base_url, timeout=PATIENCE, **settings)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(END)

    def is_ready(self) -> bool:
        """Whether it has said where it is."""
        assert self.process.poll() is None, f"the service did not start: {self.errors}"
        for line in self.lines:
            if line.startswith("ready: ") and line.endswith("\n"):
                self.base_url = line.split()[1]
        return bool(self.base_url)


@contextmanager
def running_service(
    model_path: Path,
    data_dir: Path,
    workers: int = 1,
    config: Mapping[str, Any] | None = None,
) -> Iterator[RunningService]:
    """`xorec serve` on a free port of 127.0.0.1, ready; it is ended at the end of the block.

    config: further settings: {"limits": {"k": 10}}; they are given in the environment.
    """
    command = [sys.executable, "-m", "xorec", "serve", str(model_path), "--port", "0"]
    command += ["--data", str(data_dir), "--workers", str(workers)]
    printed = data_dir.with_name(f"{data_dir.name}-printed.out")
    with printed.open("wb") as out, printed.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            env={**os.environ, "XOREC_STAMPS": "off", **_variables(config or {}, PREFIX)},
            start_new_session=True,
        )
    service = RunningService(process, printed)
    try:
        until(service.is_ready, START)
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(END)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(END)


def serve_until_it_ends(*words: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    """`xorec serve` where it ends by itself."""
    return subprocess.run(
        [sys.executable, "-m", "xorec", "serve", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=START,
        check=False,
    )


class NoModel:
    """Stands in for a service behind routes that ask nothing of it."""

    def follow(self) -> None:
        """There is no log."""


@contextmanager
def listening_app(
    routes: Iterable[Route], config: Config | None = None
) -> Iterator[tuple[str, Callable[[], None], App]]:
    """An app with these routes, and those of health, behind a real socket in a thread.

    Its address, what stops it, and the app.
    """
    config = (config or Config()).model_copy(update={"port": 0})
    health, metrics = WorkerHealth(), Metrics()
    app = App(config, [*health_routes(health, metrics), *routes], health, metrics)
    app.service, health.state = cast("Any", NoModel()), "ready"
    with reserve(config) as where, mock.patch("granian.server.common.set_main_signals"):
        server, loop = HttpServer(app, config, where), asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_until_complete, args=(server.serve(),))
        thread.start()

        def stop() -> None:
            loop.call_soon_threadsafe(server.stop)

        def answers() -> bool:
            with suppress(httpx.ConnectError):
                return httpx.get(f"{address(where)}/livez", timeout=PATIENCE).is_success
            return False

        try:
            until(lambda: not thread.is_alive() or answers())
            yield address(where), stop, app
        finally:
            if thread.is_alive():
                stop()
            thread.join(END)
            app.close()
            assert not thread.is_alive()
            loop.close()


def _variables(config: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """Settings as variables of the environment."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            found |= _variables(value, f"{prefix}{name}__")
        else:
            found[f"{prefix}{name}"] = str(value)
    return found
