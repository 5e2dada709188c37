"""`xorec bench serve`: how many requests a second, and how long each takes, over HTTP.

The server runs in processes of its own, on cores of its own where there are two; what it spends on
a request is read from its processor time, so that requests a second *a core* can be told.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.lab.bench import serve_requests
from xorec.lab.bench.harness import machine
from xorec.lab.bench.http_sender import Load, Sender
from xorec.lab.bench.serve_requests import What, drawn_recommender, payload_of, script_of
from xorec.lab.bench.server_process import HOST, ServerProcess, xorec_serve

Row = dict[str, Any]
Mode = Literal["closed", "open", "wrk"]
WARM_UP = 500
"""Requests before any time is taken."""
OPEN_CONNECTIONS = 64
"""That an open-loop run may have under way."""


@dataclass(frozen=True, kw_only=True)
class ServeBench:
    """What to measure. clients: closed runs with so many connections each. shares: open runs at
    these shares of the most that a closed run of the same kind reached; rates: at these rates.

    url: of a service that runs; None starts one, on a model with this many items, users and bits
    that is drawn by seed, or on `model`. It may be sent at most `requests` in a run, for at most
    `seconds`.
    """

    what: What = "lists"
    clients: tuple[int, ...] = (1, 32, 128)
    shares: tuple[float, ...] = (0.5,)
    rates: tuple[float, ...] = ()
    seconds: float = 10.0
    requests: int = 1_000_000
    k: int = 10
    items: int = 350_000
    users: int = 100_000
    bits: int = 64
    seed: int = 0
    workers: int = 1
    model: Path | None = None
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("requests", "k", "items", "users", "bits", "workers"):
            positive_int(getattr(self, name), name)
        for clients in self.clients:
            positive_int(clients, "clients")
        if not 0 < self.seconds <= 3600:
            raise OptionError(f"seconds is {self.seconds}: give more than 0, 3,600 at most.")
        for name in ("shares", "rates"):
            if any(not one > 0 for one in getattr(self, name)):
                raise OptionError(f"{name} are {getattr(self, name)}: give more than 0.")
        if self.what not in ("lists", "events", "mixed"):
            raise OptionError(f"what is {self.what!r}: give lists, events or mixed.")
        if self.url is not None and urlsplit(self.url).hostname not in (HOST, "localhost"):
            raise OptionError(f"url is {self.url!r}: load is sent to {HOST} only.")

    def run(self, progress: Progress = SILENT) -> dict[str, Any]:
        """{"data": .., "rows": [..]}: everything that was measured."""
        load, rows = os.getloadavg()[0], []
        with self._server(progress) as server:
            bench = Measured(server, self, server_cores()[1])
            bench.warm_up()
            for clients in self.clients:
                with progress.task(f"{self.what}: {clients} clients"):
                    rows.append(bench.closed(clients))
            if self.what == "lists" and serve_requests.is_installed():
                with progress.task("lists: wrk"):
                    rows.append(bench.wrk(max(self.clients, default=32)))
            best = max((row["requests_per_second"] for row in rows), default=0.0)
            for rate in (*self.rates, *(share * best for share in self.shares)):
                if rate > 0:
                    with progress.task(f"{self.what}: {rate:,.0f} requests a second"):
                        rows.append(bench.open(rate))
        about = {
            "what": self.what,
            "items": self.items,
            "users": self.users,
            "bits": self.bits,
            "k": self.k,
            "workers": self.workers,
            "seconds": self.seconds,
            "seed": self.seed,
            "url": self.url,
            "server_cores": list(server_cores()[0]),
            **machine(),
            "load": load,
        }
        return {"data": about, "rows": rows}

    @contextmanager
    def _server(self, progress: Progress) -> Iterator[Target]:
        if self.url is not None:
            yield Target(urlsplit(self.url).port or 80)
            return
        with tempfile.TemporaryDirectory(prefix="xorec-bench-") as name:
            folder = Path(name)
            model = self.model
            if model is None:
                model = folder / "bench.xorec"
                with progress.task(f"{self.items:,} items, {self.users:,} users: codes"):
                    drawn_recommender(self.items, self.users, self.bits, seed=self.seed).save(model)
            command = xorec_serve(
                model, folder / "data", "--workers", str(self.workers), *self.options
            )
            process = ServerProcess(command, folder / "server.log", cores=server_cores()[0])
            with process:
                yield Target(process.port, process)


@dataclass(frozen=True)
class Target:
    """Where requests go; the process, where we started it."""

    port: int
    process: ServerProcess | None = None

    def cpu_seconds(self) -> float | None:
        return self.process.cpu_seconds() if self.process and _has_psutil() else None

    def memory_mb(self) -> float | None:
        return self.process.memory_mb() if self.process and _has_psutil() else None


class Measured:
    """Runs against one server, each a row."""

    def __init__(self, target: Target, bench: ServeBench, cores: tuple[int, ...]) -> None:
        self._target, self._bench, self._cores = target, bench, cores
        self._made = 0

    def warm_up(self) -> None:
        """Every kind of request, off the clock."""
        with self._sender(8) as sender, pinned(self._cores):
            sender.closed(self._payload(), WARM_UP, 30.0)

    def closed(self, clients: int) -> Row:
        """So many clients, each of which sends when it has its answer."""
        bench = self._bench
        with self._sender(clients) as sender, pinned(self._cores):
            before = self._target.cpu_seconds()
            load = sender.closed(self._payload(), bench.requests, bench.seconds)
            return self._row("closed", clients, None, load, before)

    def open(self, rate: float) -> Row:
        """At this rate, whatever the answers do."""
        bench, connections = self._bench, OPEN_CONNECTIONS
        seconds = min(bench.seconds, bench.requests / rate)
        with self._sender(connections) as sender, pinned(self._cores):
            before = self._target.cpu_seconds()
            load = sender.open(self._payload(), rate, seconds, bench.seed)
            return self._row("open", connections, rate, load, before)

    def wrk(self, clients: int) -> Row:
        """The maximum, by wrk."""
        bench, target = self._bench, self._target
        script = script_of(bench.users, bench.k, bench.key, bench.seed)
        before, seconds = target.cpu_seconds(), max(1, round(bench.seconds))
        found = serve_requests.run_wrk(
            f"http://{HOST}:{target.port}", script, clients, seconds, self._cores
        )
        return {
            "mode": "wrk",
            "what": "lists",
            "clients": clients,
            "rate": None,
            "requests_per_second": found.requests_per_second,
            "p50_ms": found.p50_ms,
            "p99_ms": found.p99_ms,
            "errors": found.errors,
            "rss_mb": target.memory_mb(),
            "cpu_us_per_request": _each(target.cpu_seconds(), before, found.requests),
            "sender_cpu_us_per_request": None,
            "requests": found.requests,
            "max_ms": None,
            "statuses": None,
        }

    def _row(self, mode: Mode, clients: int, rate: float | None, load: Load, before: Any) -> Row:
        answered = len(load.latencies)
        return {
            "mode": mode,
            "what": self._bench.what,
            "clients": clients,
            "rate": rate,
            "requests_per_second": load.rate,
            "p50_ms": load.percentile(50),
            "p99_ms": load.percentile(99),
            "errors": load.errors,
            "rss_mb": self._target.memory_mb(),
            "cpu_us_per_request": _each(self._target.cpu_seconds(), before, answered),
            "sender_cpu_us_per_request": load.cpu_seconds / max(1, answered) * 1e6,
            "requests": answered,
            "max_ms": load.percentile(100),
            "statuses": " ".join(f"{status}:{n}" for status, n in load.by_status.items()),
        }

    def _sender(self, connections: int) -> Sender:
        return Sender((HOST, self._target.port), connections)

    def _payload(self) -> Any:
        bench, self._made = self._bench, self._made + 1
        return payload_of(
            bench.what,
            bench.users,
            bench.items,
            bench.k,
            key=bench.key,
            seed=bench.seed + self._made,
        )


def server_cores() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the server's cores, the sender's): the last is the sender's, where there are two or more."""
    if not hasattr(os, "sched_getaffinity"):
        return (), ()
    cores = tuple(sorted(os.sched_getaffinity(0)))
    return (cores[:-1], cores[-1:]) if len(cores) > 1 else (cores, cores)


@contextmanager
def pinned(cores: tuple[int, ...]) -> Iterator[None]:
    """This process on these cores."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        time.sleep(0)
        yield
    finally:
        os.sched_setaffinity(0, before)


def _has_psutil() -> bool:
    return find_spec("psutil") is not None


def _each(after: float | None, before: float | None, requests: int) -> float | None:
    if after is None or before is None:
        return None
    return (after - before) / max(1, requests) * 1e6
