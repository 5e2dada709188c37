"""HTTP on real sockets: pipelines, pieces, lengths, overload, and the end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import StreamingResponse

from tests.support.service_process import listening_app
from tests.support.waiting import PATIENCE, until
from xorec.service.api.base import Answer
from xorec.service.api.list_request import RecommendBody, RecommendQuery
from xorec.service.config import Config
from xorec.service.http import server as server_module
from xorec.service.http.app import App
from xorec.service.http.protocol import LONGEST_HEAD, HttpProtocol, RequestQueue
from xorec.service.http.routes import Call, Route
from xorec.service.http.server import HttpServer


class Echo(Answer):
    """What a handler got."""

    k: int
    size: int = 0


async def waits(service: Any, call: Call) -> Echo:
    await asyncio.sleep(call.query.k / 1000)
    return Echo(k=call.query.k)


def at_once(service: Any, call: Call) -> Echo:
    return Echo(k=call.query.k)


GO_ON, AT_WORK, STREAMS = threading.Event(), threading.Event(), threading.Event()


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Until then `held` waits, and `works`; a test that failed holds up nobody."""
    for one in (GO_ON, AT_WORK, STREAMS):
        one.clear()
    yield GO_ON
    GO_ON.set()


async def held(service: Any, call: Call) -> Echo:
    """Waits until it is let go."""
    while not GO_ON.is_set():
        await asyncio.sleep(0.005)
    return Echo(k=call.query.k)


def works(service: Any, call: Call) -> Echo:
    """In the loop, which does nothing else until it is let go."""
    AT_WORK.set()
    assert GO_ON.wait(PATIENCE)
    return Echo(k=call.query.k)


def takes(service: Any, call: Call) -> Echo:
    return Echo(k=call.body.k, size=len(call.body.deny))


def endless(service: Any, call: Call) -> StreamingResponse:
    async def events() -> Any:
        while True:
            yield "data: 1\n\n"
            STREAMS.set()  # the first is on its way
            await asyncio.sleep(0.01)

    return StreamingResponse(events(), media_type="text/event-stream")


ROUTES = (
    *(
        Route(
            method="GET", path=path, handler=handler, query=RecommendQuery, answer=Echo, summary=""
        )
        for path, handler in (
            ("/wait", waits),
            ("/now", at_once),
            ("/held", held),
            ("/work", works),
        )
    ),
    Route(method="POST", path="/take", handler=takes, body=RecommendBody, answer=Echo, summary=""),
    Route(
        method="GET",
        path="/endless",
        handler=endless,
        limited=False,
        media_type="text/event-stream",
        summary="",
    ),
)
IDLE = 600.0
SMALL = {"body_bytes": 100_000, "concurrent": 4, "body_seconds": PATIENCE, "idle_seconds": IDLE}
Listening = tuple[str, HttpServer, App]


@pytest.fixture(scope="module")
def listening() -> Iterator[Listening]:
    with listening_app(ROUTES, Config.model_validate({"limits": SMALL})) as listening:
        yield listening


@pytest.fixture
def address(listening: Listening) -> str:
    return listening[0]


def client_of(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, timeout=PATIENCE)


def answer_of(url: str) -> httpx.Response:
    return httpx.get(url, timeout=PATIENCE)


def connected(address: str) -> socket.socket:
    where = urlsplit(address)
    assert where.hostname
    assert where.port
    made = socket.create_connection((where.hostname, where.port), timeout=PATIENCE)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def replies(made: socket.socket, count: int) -> list[tuple[int, dict[str, str], Any]]:
    """Status, headers and JSON of so many replies on a connection."""
    file = made.makefile("rb")
    found = []
    for _ in range(count):
        status = int(file.readline().split()[1])
        headers = {}
        while line := file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name] = value
        body = file.read(int(headers.get("content-length", 0)))
        found.append((status, headers, json.loads(body) if body else None))
    return found


def get(path: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode()


def post(body: bytes, more: str = "") -> bytes:
    head = "POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n{more}\r\n".encode() + body


def test_pipelined_requests_are_answered_in_their_order(address: str) -> None:
    with connected(address) as made:
        paths = ["/wait?k=60", "/now?k=2", "/wait?k=30", "/now?k=4", "/now?k=5", "/nothing"]
        made.sendall(b"".join(map(get, paths)) + post(b'{"k": 7}') + get("/now?k=8"))
        found = replies(made, 8)
    assert [status for status, _, _ in found] == [200] * 5 + [404, 200, 200]
    ks = [body["k"] for status, _, body in found if status == 200]
    assert ks == [60, 2, 30, 4, 5, 7, 8]


def test_a_request_may_come_byte_by_byte(address: str) -> None:
    with connected(address) as made:
        for text in (get("/now?k=3"), post(b'{"k": 4, "deny": [1, 2]}')):
            for byte in text:
                made.sendall(bytes([byte]))
            ((status, _, body),) = replies(made, 1)
            assert (status, body["k"]) == (200, 3 if text.startswith(b"GET") else 4)


def test_a_chunked_body_and_one_that_asks_first(address: str) -> None:
    head = "POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(address) as made:
        made.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        made.sendall(b'5\r\n{"k":\r\n3\r\n 9}\r\n0\r\n\r\n')
        assert replies(made, 1)[0][2]["k"] == 9
        made.sendall(f"{head}Content-Length: 8\r\nExpect: 100-continue\r\n\r\n".encode())
        assert made.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        made.sendall(b'{"k": 8}')
        assert replies(made, 1)[0][2]["k"] == 8


@pytest.mark.parametrize("size", [100_001, 10_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_long_body_is_413_however_it_comes(address: str, size: int, chunked: bool) -> None:
    body = b'{"k": 1}'.ljust(size)
    content: Any = iter([body[:60_000], body[60_000:]]) if chunked else body
    headers = {"content-type": "application/json"}
    with client_of(address) as client:
        response = client.post("/take", content=content, headers=headers)
        assert response.status_code == 413
        assert "100,000 at most (limits.body_bytes)" in response.json()["detail"]
        assert client.get("/now?k=1").status_code == 200


@pytest.mark.parametrize("size", [100_000, 65_536, 65_537])
def test_a_body_just_short_enough_is_taken(address: str, size: int) -> None:
    headers = {"content-type": "application/json"}
    body = b'{"k": 1}'.ljust(size)
    response = httpx.post(f"{address}/take", content=body, headers=headers, timeout=PATIENCE)
    assert response.json()["k"] == 1


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"99999999999999999999999", b"5, 5"])
def test_a_strange_length_is_refused(address: str, length: bytes) -> None:
    with connected(address) as made:
        made.sendall(post(b"").replace(b"Content-Length: 0", b"Content-Length: " + length))
        ((status, headers, body),) = replies(made, 1)
    assert status in (400, 413)
    assert headers["content-type"] == "application/problem+json"
    assert body["detail"]


@pytest.mark.parametrize(
    "text", [b"nonsense\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9\r\n\r\n"]
)
def test_what_is_no_http_is_400(address: str, text: bytes) -> None:
    with connected(address) as made:
        made.sendall(text)
        ((status, headers, _),) = replies(made, 1)
        assert (status, headers["connection"]) == (400, "close")
        assert made.recv(1) == b""


def test_a_head_without_end_is_cut_off(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Piece by piece: the next one comes when the server has looked at the last."""
    taken, closing, receive = [0], threading.Event(), HttpProtocol.data_received

    def watched(self: HttpProtocol, data: bytes) -> None:
        receive(self, data)
        if self.transport.is_closing():
            closing.set()
        taken[0] += len(data)

    monkeypatch.setattr(HttpProtocol, "data_received", watched)
    with connected(address) as made:
        piece, sent = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", 0
        while not closing.is_set() and sent < 10 * LONGEST_HEAD:
            made.sendall(piece)
            sent += len(piece)
            until(lambda sent=sent: taken[0] >= sent)  # type: ignore[misc]
            piece = b"x" * 10_000
        assert LONGEST_HEAD < sent <= LONGEST_HEAD + 10_000
        ((status, headers, _),) = replies(made, 1)
        assert (status, headers["connection"]) == (431, "close")
        assert made.recv(1) == b""


def test_http_1_0_and_close_are_heeded(address: str) -> None:
    for text in (get("/now?k=1", "Connection: close\r\n"), get("/now?k=1").replace(b"1.1", b"1.0")):
        with connected(address) as made:
            made.sendall(text)
            ((status, headers, _),) = replies(made, 1)
            assert (status, headers["connection"]) == (200, "close")
            assert made.recv(1) == b""


def test_a_body_that_does_not_come_is_408() -> None:
    limits = {**SMALL, "body_seconds": 0.2}
    with listening_app(ROUTES, Config.model_validate({"limits": limits})) as (address, _, _):
        for size in (10, 90_000):
            with connected(address) as made:
                made.sendall(post(b" " * size)[: -(size - 5)])
                ((status, _, _),) = replies(made, 1)
                assert status == 408
                assert made.recv(1) == b""


def test_a_silent_connection_is_closed(listening: Listening) -> None:
    """All are looked at: one that never asked, one that did long ago, one that did just now."""
    address, server, _ = listening

    def ours(made: socket.socket) -> list[Any]:
        every: list[Any] = list(server.server_state.connections)
        return [one for one in every if one.client and one.client[1] == made.getsockname()[1]]

    with connected(address) as silent, connected(address) as busy, connected(address) as kept:
        until(lambda: all(map(ours, (silent, busy, kept))))
        (first,), (second,), (third,) = ours(silent), ours(busy), ours(kept)
        third.silent_since = aged = third.silent_since - IDLE / 2
        for made in (busy, kept):
            made.sendall(get("/now?k=1"))
            assert replies(made, 1)[0][0] == 200
        until(lambda: third.silent_since > aged + IDLE / 4)  # a request ends the silence
        first.silent_since -= IDLE
        second.silent_since -= IDLE
        assert silent.recv(1) == b""
        assert busy.recv(1) == b""
        kept.sendall(get("/now?k=2"))
        assert replies(kept, 1)[0][0] == 200


def test_one_too_many_is_told_at_once(listening: Listening, go_on: threading.Event) -> None:
    """Four may wait; the others get their 503 while those are still waiting."""
    address, _, app = listening
    with ThreadPoolExecutor(4) as pool, client_of(address) as client:
        try:
            waiting = [pool.submit(answer_of, f"{address}/held?k=9") for _ in range(4)]
            until(lambda: app.running == 4)
            for _ in range(20):
                response = client.get("/now?k=1")
                assert response.status_code == 503
                assert response.headers["retry-after"] == "1"
                assert "4 requests are under way already" in response.json()["detail"]
            assert client.get("/livez").status_code == 200
            assert client.get("/readyz").status_code == 200
            assert app.running == 4
            assert not any(one.done() for one in waiting)
        finally:
            go_on.set()
        assert [one.result(PATIENCE).status_code for one in waiting] == [200] * 4
        assert client.get("/now?k=1").status_code == 200


def test_a_line_of_work_is_bounded_too(address: str, go_on: threading.Event) -> None:
    """Twelve of which the first keeps the loop: when it looks up, there are eleven at once. Four or
    a few more are done, the rest learn it."""
    with ExitStack() as stack:
        makers = [stack.enter_context(connected(address)) for _ in range(12)]
        for made in makers:
            made.sendall(get("/now?k=1"))
            replies(made, 1)
        makers[0].sendall(get("/work?k=30"))
        assert AT_WORK.wait(PATIENCE)
        for made in makers[1:]:
            made.sendall(get("/work?k=30"))
        go_on.set()
        statuses = [replies(made, 1)[0][0] for made in makers]
    assert set(statuses) == {200, 503}
    assert 4 <= statuses.count(200) < 12


def test_the_end_finishes_what_runs_and_tells_others_to_close(
    go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace_is_over = threading.Event()

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        while seconds == server_module.GRACE and not grace_is_over.is_set():
            await asyncio.sleep(0.005)

    patient = SimpleNamespace(sleep=sleep, timeout=asyncio.timeout)
    monkeypatch.setattr(server_module, "asyncio", patient)
    monkeypatch.setattr(server_module, "FINISH", PATIENCE)
    limits = Config.model_validate({"limits": SMALL})
    with listening_app(ROUTES, limits) as (address, server, app), ThreadPoolExecutor(2) as pool:
        try:
            running = pool.submit(answer_of, f"{address}/held?k=9")
            stream = pool.submit(answer_of, f"{address}/endless")
            with connected(address) as idle, client_of(address) as client:
                assert client.get("/readyz").status_code == 200
                until(lambda: app.running == 1)
                assert STREAMS.wait(PATIENCE)
                server.stop()
                response = client.get("/readyz")
                assert response.status_code == 503
                assert "stopping" in response.json()["detail"]
                assert response.headers["connection"] == "close"
                assert client.get("/now?k=1").status_code == 200  # who still comes is answered
                grace_is_over.set()
                assert idle.recv(1) == b""
            assert not running.done()
        finally:
            grace_is_over.set()
            go_on.set()
        assert running.result(PATIENCE).status_code == 200
        assert stream.result(PATIENCE).text.startswith("data: 1")
        assert app.running == 0


def test_many_clients_at_once_get_their_own_answers() -> None:
    errors: list[object] = []

    def ask(address: str, first: int) -> None:
        with client_of(address) as client:
            for k in range(first, first + 50):
                path = ("/now", "/wait")[k % 2]
                response = client.get(
                    path, params={"k": k % 20 + 1}, headers={"x-request-id": f"r{k}"}
                )
                body = response.json()
                if (body["k"], body["request_id"]) != (k % 20 + 1, f"r{k}"):
                    errors.append(body)

    with listening_app(ROUTES) as (address, _, _):
        threads = [threading.Thread(target=ask, args=(address, 1000 * n)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


def test_writes_and_lists_are_counted_apart_and_answered_in_order() -> None:
    async def run() -> list[str]:
        done: list[str] = []
        queue = RequestQueue(asyncio.get_running_loop(), 2, 3, lambda: 0)
        for name, writes in (("a", True), ("b", False), ("c", True), ("d", True), ("e", False)):
            assert not queue.is_full(writes=writes), name
            queue.add(lambda name=name: done.append(name), writes=writes)  # type: ignore[misc]
        assert queue.is_full(writes=True)
        assert queue.is_full(writes=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not queue.is_full(writes=True)
        assert not queue.is_full(writes=False)
        assert len(queue) == 0
        return done

    assert asyncio.run(run()) == ["a", "b", "c", "d", "e"]


def test_what_is_under_way_elsewhere_counts_for_lists_only() -> None:
    async def run() -> None:
        queue = RequestQueue(asyncio.get_running_loop(), 4, 4, lambda: 4)
        assert queue.is_full(writes=False)
        assert not queue.is_full(writes=True)

    asyncio.run(run())
