"""A cheap sender of HTTP requests: one thread, sockets that do not block, keep-alive.

closed: every connection sends its next request when it has its answer: finds the maximum. open:
each request has a planned time and its latency counts from there, so that what waits in a queue,
here or in the service, is seen; a closed sender would wait politely and see nothing.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError

Payload = Callable[[int], bytes]
"""The bytes of request number i."""
BROKEN = 0
"""Stands for a status where none came."""
GRACE = 5.0
"""Seconds after the last planned request in which answers are waited for."""
SPIN = 0.002
"""Seconds before a planned time in which the selector is not slept in: it wakes up too late."""


@dataclass
class Load:
    """What came of it. latencies: seconds of each answer, in the order of their arrival, and
    `statuses` beside them; 0: the connection broke. cpu_seconds: of the sender itself."""

    seconds: float
    cpu_seconds: float
    latencies: npt.NDArray[np.float64]
    statuses: npt.NDArray[np.int64]
    unanswered: int = 0
    bodies: list[bytes] = field(default_factory=list)

    @property
    def good(self) -> npt.NDArray[np.bool_]:
        return (self.statuses >= 200) & (self.statuses < 300)

    @property
    def errors(self) -> int:
        """Answers that are no 2xx, and requests without an answer."""
        return int((~self.good).sum()) + self.unanswered

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return float(self.good.sum() / self.seconds)

    @property
    def by_status(self) -> dict[int, int]:
        return dict(sorted(Counter(self.statuses.tolist()).items()))

    def row(self) -> dict[str, Any]:
        """The columns of a bench."""
        answered = len(self.latencies)
        return {
            "requests_per_second": self.rate,
            "p50_ms": self.percentile(50),
            "p99_ms": self.percentile(99),
            "max_ms": self.percentile(100),
            "errors": self.errors,
            "requests": answered,
            "statuses": " ".join(f"{status}:{n}" for status, n in self.by_status.items()),
            "sender_cpu_us_per_request": self.cpu_seconds / max(1, answered) * 1e6,
        }

    def percentile(self, share: float, status: int | None = None) -> float:
        """Of the latencies of good answers, or of those with this status, in milliseconds."""
        chosen = self.latencies[self.good if status is None else self.statuses == status]
        return float(np.percentile(chosen, share) * 1e3) if len(chosen) else float("nan")


@dataclass(eq=False, slots=True)
class _LoadConnection:
    """One socket, and the request that is under way on it."""

    socket: socket.socket
    buffer: bytes = b""
    planned: float = 0.0
    busy: bool = False


class Sender:
    """connections: so many at most are under way. keep: bodies of answers to keep."""

    def __init__(self, address: tuple[str, int], connections: int, *, keep: int = 0) -> None:
        if address[0] not in ("127.0.0.1", "localhost", "::1"):
            raise DataError(f"{address[0]} is not this machine: load is sent to 127.0.0.1 only.")
        self._address = address
        self._selector = selectors.DefaultSelector()
        self._keep = keep
        self.lost = 0
        """Connections that broke and could not be made again."""
        self._free = [self._connect() for _ in range(connections)]

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *error: object) -> None:
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def closed(self, payload: Payload, requests: int, seconds: float) -> Load:
        """So many requests or seconds, whatever ends first."""
        sent = min(len(self._free), requests)
        run = _Run()
        for number in range(sent):
            self._send(self._free.pop(), payload(number), run.began)
        while run.done < requests and time.perf_counter() < run.began + seconds:
            for connection, status in self._answers(1.0, run):
                now = time.perf_counter()
                run.note(now - connection.planned, status)
                if sent < requests:
                    self._send(connection, payload(sent), now)
                    sent += 1
                else:
                    self._free.append(connection)
        return self._settled(run.load(0))

    def open(
        self, payload: Payload, rate: float, seconds: float, seed: int = 0, spin: float = SPIN
    ) -> Load:
        """Requests at random moments (exponential gaps), `rate` a second on average.

        spin: 0 where a millisecond of delay does not matter, and the core has more to do.
        """
        rng, count = np.random.default_rng(seed), max(1, round(rate * seconds))
        run, number, done = _Run(), 0, 0
        plan = (run.began + np.cumsum(rng.exponential(1 / rate, count))).tolist()
        late: deque[int] = deque()
        end = plan[-1] + GRACE
        while done < count and (now := time.perf_counter()) < end:
            while number < count and plan[number] <= now:
                if self._free:
                    self._send(self._free.pop(), payload(number), plan[number])
                else:
                    late.append(number)
                number += 1
            ahead = plan[number] - now if number < count else 1.0
            for connection, status in self._answers(max(0.0, ahead - spin), run):
                run.note(time.perf_counter() - connection.planned, status)
                done += 1
                if late:
                    again = late.popleft()
                    self._send(connection, payload(again), plan[again])
                else:
                    self._free.append(connection)
        return self._settled(run.load(count - done))

    def _settled(self, load: Load) -> Load:
        """Off the clock: wait for what is under way, so that the next run starts with nothing."""
        end, late = time.perf_counter() + GRACE, _Run()
        while (busy := self._busy()) and time.perf_counter() < end:
            self._free += [connection for connection, _ in self._answers(0.1, late)]
        for connection in busy:
            connection.busy = False
            self._connect_again(connection)
        return load

    def _busy(self) -> list[_LoadConnection]:
        return [key.data for key in self._selector.get_map().values() if key.data.busy]

    def _answers(self, timeout: float, run: _Run) -> list[tuple[_LoadConnection, int]]:
        """Answers that are complete, with connections that can be used again."""
        found = []
        for key, _ in self._selector.select(timeout):
            connection: _LoadConnection = key.data
            try:
                piece = connection.socket.recv(262_144)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                found += [(again, BROKEN) for again in self._connect_again(connection)]
                continue
            answer = connection.buffer + piece if connection.buffer else piece
            status, length = parse(answer)
            if len(answer) < length:
                connection.buffer = answer
                continue
            connection.buffer, connection.busy = b"", False
            if len(run.bodies) < self._keep:
                run.bodies.append(answer[answer.index(b"\r\n\r\n") + 4 : length])
            found.append((connection, status))
        return found

    def _send(self, connection: _LoadConnection, request: bytes, planned: float) -> None:
        connection.planned, connection.busy = planned, True
        try:
            sent = connection.socket.send(request)
            if sent < len(request):
                connection.socket.setblocking(True)
                connection.socket.sendall(request[sent:])
                connection.socket.setblocking(False)
        except OSError:
            pass  # the next look at it finds it closed

    def _connect(self) -> _LoadConnection:
        made = socket.create_connection(self._address, timeout=10)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setblocking(False)
        connection = _LoadConnection(made)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _connect_again(self, broken: _LoadConnection) -> list[_LoadConnection]:
        """A new connection for one that was closed; nothing where it was not in use."""
        self._selector.unregister(broken.socket)
        broken.socket.close()
        connection: _LoadConnection | None = None
        with suppress(OSError):
            connection = self._connect()
        if not broken.busy:
            self._free = [one for one in self._free if one is not broken]
            self._free += [] if connection is None else [connection]
            return []
        if connection is None:
            self.lost += 1
            return []
        connection.planned = broken.planned
        return [connection]


@dataclass
class _Run:
    """What is noted while requests are under way."""

    latencies: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    began_cpu: float = field(default_factory=time.process_time)
    began: float = field(default_factory=time.perf_counter)

    @property
    def done(self) -> int:
        return len(self.latencies)

    def note(self, latency: float, status: int) -> None:
        self.latencies.append(latency)
        self.statuses.append(status)

    def load(self, unanswered: int) -> Load:
        return Load(
            time.perf_counter() - self.began,
            time.process_time() - self.began_cpu,
            np.array(self.latencies),
            np.array(self.statuses, dtype=np.int64),
            unanswered,
            self.bodies,
        )


def parse(answer: bytes) -> tuple[int, int]:
    r"""(status, length) of an answer whose head is there; a length that is too long where not.

    >>> parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    (200, 40)
    >>> parse(b"HTTP/1.1 200 OK\r\nContent-Le")
    (0, 28)
    """
    head = answer.find(b"\r\n\r\n")
    if head < 0:
        return 0, len(answer) + 1
    at = answer.find(b"content-length:", 0, head)
    if at < 0:
        at = answer[:head].lower().find(b"content-length:")
    length = 0 if at < 0 else int(answer[at + 15 : answer.index(b"\r\n", at)])
    return int(answer[9:12]), head + 4 + length
