from __future__ import annotations

import re
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.experiments.bench.http_sender import BROKEN, Sender
from xorec.experiments.bench.serve_requests import get, payload_of, post

pytestmark = pytest.mark.process


class Service(socketserver.ThreadingTCPServer):
    """Answers each request; /slow after 0.2 s, /busy with 503, /gone by hanging up. Everybody
    waits for what is slow: it has one pair of hands."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.asked: list[bytes] = []
        self.hands = threading.Lock()


class Connection(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: Service

    def handle(self) -> None:
        with suppress(ConnectionError):  # its peer reads no more
            while head := self._head():
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = self.rfile.read(int(length[1])) if length else b""
                self.server.asked.append(head + b"\r\n" + body)
                with self.server.hands:
                    time.sleep(0.2 if b"/slow" in head else 0)
                if b"/gone" in head:
                    return
                status = b"503 Busy" if b"/busy" in head else b"200 OK"
                self.wfile.write(b"HTTP/1.1 " + status + b"\r\nContent-")
                self.wfile.write(b"Length: 5\r\n\r\nhello")

    def _head(self) -> bytes:
        """The lines of the next request; nothing when the peer has hung up."""
        lines = []
        while (line := self.rfile.readline()) not in (b"", b"\r\n"):
            lines.append(line)
        return b"".join(lines)


@contextmanager
def running() -> Iterator[tuple[Service, tuple[str, int]]]:
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield service, service.socket.getsockname()
        finally:
            service.shutdown()
            thread.join()


def test_closed_sends_what_was_asked_for_and_no_more() -> None:
    with running() as (service, address):
        with Sender(address, 4, keep=2) as sender:
            load = sender.closed(lambda i: get(f"/{i}"), 50, 10.0)
        assert len(service.asked) == 50
        assert {line.split()[1] for line in service.asked} == {f"/{i}".encode() for i in range(50)}
        assert load.by_status == {200: 50}
        assert load.errors == 0
        assert load.bodies == [b"hello", b"hello"]
        assert load.rate == pytest.approx(50 / load.seconds)


def test_statuses_and_broken_connections_are_counted() -> None:
    paths = ["/", "/busy", "/gone", "/busy"]
    with running() as (_, address), Sender(address, 2) as sender:
        load = sender.closed(lambda i: get(paths[i % 4]), 40, 10.0)
        assert load.by_status == {BROKEN: 10, 200: 10, 503: 20}
        assert load.errors == 30


def test_open_counts_what_waits_from_its_planned_time() -> None:
    """One slow request of 0.2 s at 500 a second: some hundred wait behind it."""
    with running() as (_, address), Sender(address, 16) as sender:
        slow = lambda i: get("/slow" if i == 50 else "/")  # noqa: E731
        load = sender.open(slow, 500, 1.0, seed=3)
        assert load.errors == 0
        assert len(load.latencies) == 500
        late = int((load.latencies > 0.02).sum())
        assert late >= 50
    with running() as (_, address), Sender(address, 1) as sender:
        polite = sender.closed(slow, 500, 5.0)
        assert (polite.latencies > 0.02).sum() < late / 2, "a closed sender sees one"


def test_a_run_is_not_told_of_the_one_before() -> None:
    with running() as (_, address), Sender(address, 8) as sender:
        first = sender.closed(lambda i: get("/slow"), 1000, 0.1)
        assert len(first.latencies) < 8
        second = sender.open(lambda i: get("/busy"), 200, 0.2)
        assert second.by_status == {503: 40}
        assert second.unanswered == 0


def test_open_ends_though_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xorec.experiments.bench.http_sender.GRACE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with Sender(silent.getsockname(), 2) as sender:
            load = sender.open(lambda i: get("/"), 100, 0.1)
        assert (load.errors, load.unanswered) == (10, 10)
        assert np.isnan(load.percentile(50))


def test_other_machines_are_left_alone() -> None:
    with pytest.raises(DataError, match=r"192\.0\.2\.1 is not this machine"):
        Sender(("192.0.2.1", 80), 1)


def test_events_are_all_new_and_mixed_has_a_tenth() -> None:
    events = payload_of("events", 10, 20)
    assert len({events(i) for i in range(20_000)}) == 20_000
    mixed = payload_of("mixed", 10, 20)
    assert sum(mixed(i).startswith(b"POST") for i in range(1000)) == 100
    assert post("/v1/events", b"{}", "k").endswith(b"Content-Length: 2\r\n\r\n{}")
    assert b"Authorization: Bearer k\r\n" in get("/", "k")
