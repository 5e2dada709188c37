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

from tests.support.waiting import PATIENCE
from xorec.core.errors import DataError
from xorec.lab.bench.http_sender import BROKEN, Load, Sender
from xorec.lab.bench.serve_requests import get, payload_of, post

pytestmark = pytest.mark.process


class Service(socketserver.ThreadingTCPServer):
    """Answers each request; /slow after 0.5 s, /held when it may go on, /busy with 503, /gone by
    hanging up. Everybody waits for what is slow: it has one pair of hands."""

    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.asked: list[bytes] = []
        self.hands = threading.Lock()
        self.go_on = threading.Event()


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
                    time.sleep(0.5 if b"/slow" in head else 0)
                    if b"/held" in head:
                        self.server.go_on.wait(PATIENCE)
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
            service.go_on.set()
            service.shutdown()
            thread.join()


def test_closed_sends_what_was_asked_for_and_no_more() -> None:
    with running() as (service, address):
        with Sender(address, 4, keep=2) as sender:
            load = sender.closed(lambda i: get(f"/{i}"), 50, PATIENCE)
        assert len(service.asked) == 50
        assert {line.split()[1] for line in service.asked} == {f"/{i}".encode() for i in range(50)}
        assert load.by_status == {200: 50}
        assert load.errors == 0
        assert load.bodies == [b"hello", b"hello"]
        assert load.rate == pytest.approx(50 / load.seconds)


def test_statuses_and_broken_connections_are_counted() -> None:
    paths = ["/", "/busy", "/gone", "/busy"]
    with running() as (_, address), Sender(address, 2) as sender:
        load = sender.closed(lambda i: get(paths[i % 4]), 40, PATIENCE)
        assert load.by_status == {BROKEN: 10, 200: 10, 503: 20}
        assert load.errors == 30


def test_open_counts_what_waits_from_its_planned_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One slow request of 0.5 s at 500 a second: some hundred wait behind it."""
    monkeypatch.setattr("xorec.lab.bench.http_sender.GRACE", PATIENCE)
    with running() as (_, address), Sender(address, 16) as sender:
        slow = lambda i: get("/slow" if i == 50 else "/")  # noqa: E731
        load = sender.open(slow, 500, 1.0, seed=3)
        assert load.errors == 0
        assert len(load.latencies) == 500
        assert (load.latencies > 0.2).sum() >= 100
    with running() as (_, address), Sender(address, 1) as sender:
        polite = sender.closed(slow, 500, PATIENCE)
        assert len(polite.latencies) == 500
        assert polite.latencies.max() >= 0.5
        assert polite.latencies.sum() <= polite.seconds, "a closed sender waits for one at a time"


@pytest.mark.parametrize("answered", [True, False])
def test_a_run_is_not_told_of_the_one_before(
    answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its answers come when it has ended, or not as long as they are waited for."""
    grace, settle = "xorec.lab.bench.http_sender.GRACE", Sender._settled
    with running() as (service, address), Sender(address, 8) as sender:

        def settled(self: Sender, load: Load) -> Load:
            if answered:
                service.go_on.set()
            return settle(self, load)

        monkeypatch.setattr(Sender, "_settled", settled)
        monkeypatch.setattr(grace, PATIENCE if answered else 0.1)
        first = sender.closed(lambda i: get("/held"), 1000, 0.1)
        assert len(first.latencies) == 0
        service.go_on.set()
        monkeypatch.setattr(grace, PATIENCE)
        second = sender.open(lambda i: get("/busy"), 200, 0.2)
        assert second.by_status == {503: 40}
        assert second.unanswered == 0


def test_open_ends_though_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xorec.lab.bench.http_sender.GRACE", 0.1)
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
