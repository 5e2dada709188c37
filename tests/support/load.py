"""A service to hold promises against: started in a folder, asked by many, counted.

The promises are commands in `benchmarks/service/`; their short forms are tests.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from xorec.lab.bench.serve_requests import drawn_recommender
from xorec.lab.bench.server_process import HOST, ServerProcess, xorec_serve

NEVER = 1_000_000_000
"""Events or minutes after which something happens that must not disturb."""
Figures = dict[str, Any]


@dataclass
class Served:
    """A folder with a model of numbers as ids, and the service on it; it may be started again."""

    folder: Path
    items: int = 2_000
    users: int = 500
    workers: int = 1
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the service, by the names of its environment: `UPDATE__EVENTS`."""
    data: Path | None = None
    cores: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.model = self.folder / "shop.xorec"
        self.data = self.data or self.folder / "data"
        if not self.model.exists():
            self.draw_model(self.seed)
        self.process = self._process()

    def draw_model(self, seed: int) -> None:
        """Another model of the same users and items."""
        drawn_recommender(self.items, self.users, seed=seed).save(self.model)

    def __enter__(self) -> Served:
        self.process.start()
        self.process.wait_ready()
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.process is not None and self.process.process.poll() is None:
            self.process.stop()

    def restart(self, how: signal.Signals = signal.SIGTERM) -> float:
        """End it in this way and start it anew; the seconds until it was ready again."""
        if how is signal.SIGKILL:
            self.process.kill()
        else:
            self.process.stop()
        return self.start_again()

    def start_again(self) -> float:
        """After its end; the seconds until it is ready."""
        began = time.perf_counter()
        self.process = self._process(self.process.port)
        self.process.start()
        self.process.wait_ready()
        return time.perf_counter() - began

    @property
    def port(self) -> int:
        return self.process.port

    @property
    def url(self) -> str:
        return self.process.url

    def caller(self, key: str | None = None) -> Caller:
        """A connection of its own."""
        return Caller(self.port, key)

    @property
    def log_text(self) -> str:
        """All that it has printed."""
        return self.process.log.read_text(errors="replace")

    def _process(self, port: int | None = None) -> ServerProcess:
        settings = {"UPDATE__EVENTS": NEVER, "UPDATE__MINUTES": NEVER, **self.settings}
        environment = {f"XOREC_SERVE__{name}": str(value) for name, value in settings.items()}
        assert self.data is not None
        return ServerProcess(
            xorec_serve(self.model, self.data, "--workers", str(self.workers)),
            self.folder / "service.log",
            port=port,
            cores=self.cores,
            environment=environment,
        )


@contextmanager
def serving(**settings: Any) -> Iterator[Served]:
    """A service in a temporary folder."""
    folder = tempfile.TemporaryDirectory(prefix="xorec-promise-")
    with folder as name, Served(Path(name), **settings) as served:
        yield served


class Caller:
    """A connection that is kept: status and JSON of each answer. Not for several threads."""

    def __init__(self, port: int, key: str | None = None, timeout: float = 120.0) -> None:
        self._connection = HTTPConnection(HOST, port, timeout=timeout)
        self._headers = {} if key is None else {"Authorization": f"Bearer {key}"}

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        return self.call("GET", path)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        return self.call("POST", path, body)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """OSError or HTTPException where no answer came; the next call connects anew."""
        headers, content = dict(self._headers), None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException):
            self._connection.close()
            raise
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def items(self, user: Any, k: int = 10) -> list[Any]:
        """The list of a user."""
        status, answer = self.get(f"/v1/recommend?user={user}&k={k}")
        assert status == 200, (status, answer)
        return [item["id"] for item in answer["items"]]

    def export(self) -> list[dict[str, Any]]:
        """All events of the log."""
        status, text = self.get("/v1/export?what=events")
        assert status == 200, (status, text)
        if isinstance(text, dict):  # one line is one object
            return [text]
        return [json.loads(line) for line in (text or "").split("\n") if line.strip()]


@dataclass
class EventSenders:
    """Threads that send events, each with an id of its own; what was acknowledged is kept.

    An event without an answer is sent again with the same id, as a client does.
    """

    served: Served
    threads: int
    acknowledged: dict[str, tuple[int, int]] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    statuses: dict[int, int] = field(default_factory=dict)
    duplicates: int = 0
    tag: str = "s"
    patient: bool = False
    """Send again what was answered by 503."""

    def __post_init__(self) -> None:
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._doubtful: list[tuple[str, int, int]] = []
        self._made = 0
        self._running: list[threading.Thread] = []

    def start(self) -> None:
        self._stop.clear()
        self._running = [
            threading.Thread(target=self._send, args=(n,), daemon=True) for n in range(self.threads)
        ]
        for thread in self._running:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._running:
            thread.join()

    def finish(self) -> None:
        """Send what is in doubt once more."""
        with self.served.caller() as caller:
            while self._doubtful:
                self._one(caller, self._doubtful.pop())

    def _next(self) -> tuple[str, int, int]:
        with self._lock:
            if self._doubtful:
                return self._doubtful.pop()
            self._made += 1
            made = self._made
        name = f"{self.tag}-{made}"
        self.sent.add(name)
        return name, made % self.served.users, made * 7919 % self.served.items

    def _send(self, number: int) -> None:
        with self.served.caller() as caller:
            while not self._stop.is_set():
                event = self._next()
                try:
                    self._one(caller, event)
                except (OSError, HTTPException):
                    with self._lock:
                        self._doubtful.append(event)
                    self._stop.wait(0.005)

    def _one(self, caller: Caller, event: tuple[str, int, int]) -> None:
        name, user, item = event
        body = {"user": user, "item": item, "event_id": name}
        status, answer = caller.post("/v1/events", body)
        with self._lock:
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 200:
                self.acknowledged[name] = (user, item)
                self.duplicates += answer["duplicates"]
            elif status == 503 and self.patient:
                self._doubtful.append(event)
        if status == 503 and self.patient:
            time.sleep(0.02)


@contextmanager
def events_settings(kind: str | None) -> Iterator[dict[str, str]]:
    """Settings for events in a PostgreSQL of that kind, which is there until the block ends; none
    where none is wanted."""
    if kind is None:
        yield {}
        return
    from tests.support import postgresql

    server, reason = postgresql.start(kind)
    if server is None:
        raise SystemExit(reason)
    with server:
        yield {"EVENTS": server.address}


def compare_with_log(acknowledged: Mapping[str, Any], sent: set[str], log: list[Any]) -> Figures:
    """How many acknowledged events the log does not have, has twice, or has and nobody sent."""
    names = [event["event_id"] for event in log]
    found = set(names)
    return {
        "acknowledged": len(acknowledged),
        "in_log": len(names),
        "lost": sum(name not in found for name in acknowledged),
        "doubled": len(names) - len(found),
        "unknown": len(found - sent),
    }


def promise(
    name: str,
    run: Callable[[argparse.Namespace], tuple[bool, Figures]],
    parser: argparse.ArgumentParser,
    short: Mapping[str, Any],
) -> int:
    """The command of a promise: run it, print what was found, 0 if it held.

    short: what --short sets.
    """
    parser.add_argument("--short", action="store_true", help=f"the test's form: {dict(short)}")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args()
    if wanted.short:
        for option, value in short.items():
            setattr(wanted, option, value)
    load = os.getloadavg()[0]
    began = time.perf_counter()
    held, figures = run(wanted)
    seconds = round(time.perf_counter() - began, 2)
    result = {"promise": name, "held": held, "seconds": seconds, "load": round(load, 1), **figures}
    if wanted.json:
        sys.stdout.write(json.dumps(result) + "\n")
    else:
        for key, value in result.items():
            sys.stdout.write(f"{key:28} {value}\n")
    return 0 if held else 1


def percentile(values: list[float], share: float) -> float | None:
    """Of a list that may be empty."""
    if not values:
        return None
    return round(sorted(values)[min(len(values) - 1, int(len(values) * share / 100))], 3)
