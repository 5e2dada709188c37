"""`xorec bench serve`: how many requests a second, and how long each takes, over HTTP.

The server runs in processes of its own, on cores of its own where there are two; what it spends on
a request is read from its processor time, so that requests a second *a core* can be told.
"""

from __future__ import annotations

import os
import tempfile
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
from xorec.lab.bench.http_sender import Payload, Sender
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
        with self._server(progress) as (port, process):
            bench = ServerRuns(self, port, process)
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
        same = ("what", "items", "users", "bits", "k", "workers", "seconds", "seed", "url")
        about = {name: getattr(self, name) for name in same}
        about |= {"server_cores": list(server_cores()[0]), **machine(), "load": load}
        return {"data": about, "rows": rows}

    @contextmanager
    def _server(self, progress: Progress) -> Iterator[tuple[int, ServerProcess | None]]:
        if self.url is not None:
            yield urlsplit(self.url).port or 80, None
            return
        with tempfile.TemporaryDirectory(prefix="xorec-bench-") as name:
            folder = Path(name)
            model = self.model
            if model is None:
                model = folder / "bench.xorec"
                with progress.task(f"{self.items:,} items, {self.users:,} users: codes"):
                    drawn_recommender(self.items, self.users, self.bits, seed=self.seed).save(model)
            workers = ("--workers", str(self.workers), *self.options)
            command = xorec_serve(model, folder / "data", *workers)
            with ServerProcess(command, folder / "server.log", cores=server_cores()[0]) as process:
                yield process.port, process


class ServerRuns:
    """Runs against one server, each a row. process: of a server that we started, if any."""

    def __init__(self, bench: ServeBench, port: int, process: ServerProcess | None) -> None:
        self._bench, self._port, self._cores = bench, port, server_cores()[1]
        self._process = process if find_spec("psutil") else None
        self._made = 0

    def warm_up(self) -> None:
        """Every kind of request, off the clock."""
        with self._sender(8) as sender:
            sender.closed(self._payload(), WARM_UP, 30.0)

    def closed(self, clients: int) -> Row:
        """So many clients, each of which sends when it has its answer."""
        with self._sender(clients) as sender:
            before = self._cpu_seconds()
            load = sender.closed(self._payload(), self._bench.requests, self._bench.seconds)
            return self._row("closed", clients, None, before, load.row())

    def open(self, rate: float) -> Row:
        """At this rate, whatever the answers do."""
        seconds = min(self._bench.seconds, self._bench.requests / rate)
        with self._sender(OPEN_CONNECTIONS) as sender:
            before = self._cpu_seconds()
            load = sender.open(self._payload(), rate, seconds, self._bench.seed)
            return self._row("open", OPEN_CONNECTIONS, rate, before, load.row())

    def wrk(self, clients: int) -> Row:
        """The maximum, by wrk."""
        bench, before = self._bench, self._cpu_seconds()
        script = script_of(bench.users, bench.k, bench.key, bench.seed)
        address, seconds = f"http://{HOST}:{self._port}", max(1, round(bench.seconds))
        found = serve_requests.run_wrk(address, script, clients, seconds, self._cores)
        return self._row("wrk", clients, None, before, found)

    def _row(
        self, mode: Mode, clients: int, rate: float | None, before: float | None, found: Row
    ) -> Row:
        cpu = after = self._cpu_seconds()
        if before is not None and after is not None:
            cpu = (after - before) / max(1, found["requests"]) * 1e6
        row: Row = {"mode": mode, "what": self._bench.what, "clients": clients, "rate": rate}
        row |= {"sender_cpu_us_per_request": None, "max_ms": None, "statuses": None, **found}
        memory = None if self._process is None else self._process.memory_mb()
        return {**row, "rss_mb": memory, "cpu_us_per_request": cpu}

    def _cpu_seconds(self) -> float | None:
        return None if self._process is None else self._process.cpu_seconds()

    @contextmanager
    def _sender(self, connections: int) -> Iterator[Sender]:
        with Sender((HOST, self._port), connections) as sender, pinned(self._cores):
            yield sender

    def _payload(self) -> Payload:
        bench, self._made = self._bench, self._made + 1
        sizes = bench.users, bench.items, bench.k
        return payload_of(bench.what, *sizes, key=bench.key, seed=bench.seed + self._made)


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
        yield
    finally:
        os.sched_setaffinity(0, before)
