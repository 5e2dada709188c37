"""HTTP on real sockets: pipelines, pieces, lengths, overload, and the end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import StreamingResponse

from tests.support.service_process import listening_app
from xorec.service.http.routes import Call, Route
from xorec.service.schemas.base import Answer
from xorec.service.schemas.lists import RecommendBody, RecommendQuery
from xorec.service.settings.config import Config


class Echo(Answer):
    """What a handler got."""

    k: int
    size: int = 0


async def waits(service: Any, call: Call) -> Echo:
    await asyncio.sleep(call.query.k / 1000)
    return Echo(k=call.query.k)


def at_once(service: Any, call: Call) -> Echo:
    return Echo(k=call.query.k)


def works(service: Any, call: Call) -> Echo:
    """In the loop, for so many milliseconds."""
    until = time.perf_counter() + call.query.k / 1000
    while time.perf_counter() < until:
        pass
    return Echo(k=call.query.k)


def takes(service: Any, call: Call) -> Echo:
    return Echo(k=call.body.k, size=len(call.body.deny))


def endless(service: Any, call: Call) -> StreamingResponse:
    async def events() -> Any:
        while True:
            yield "data: 1\n\n"
            await asyncio.sleep(0.01)

    return StreamingResponse(events(), media_type="text/event-stream")


ROUTES = (
    *(
        Route(
            method="GET", path=path, handler=handler, query=RecommendQuery, answer=Echo, summary=""
        )
        for path, handler in (("/wait", waits), ("/now", at_once), ("/work", works))
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
SMALL = Config.model_validate(
    {"limits": {"body_bytes": 100_000, "concurrent": 4, "body_seconds": 0.5, "idle_seconds": 1.5}}
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with listening_app(ROUTES, SMALL) as (address, _, _):
        yield address


def connected(address: str) -> socket.socket:
    where = urlsplit(address)
    assert where.hostname
    assert where.port
    made = socket.create_connection((where.hostname, where.port), timeout=10)
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
    with httpx.Client(base_url=address) as client:
        response = client.post("/take", content=content, headers=headers)
        assert response.status_code == 413
        assert "100,000 at most (limits.body_bytes)" in response.json()["detail"]
        assert client.get("/now?k=1").status_code == 200


@pytest.mark.parametrize("size", [100_000, 65_536, 65_537])
def test_a_body_just_short_enough_is_taken(address: str, size: int) -> None:
    headers = {"content-type": "application/json"}
    body = b'{"k": 1}'.ljust(size)
    response = httpx.post(f"{address}/take", content=body, headers=headers)
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


def test_a_head_without_end_is_cut_off(address: str) -> None:
    with connected(address) as made:
        made.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        sent = 0
        with suppress(ConnectionError):
            while sent < 10_000_000:
                sent += made.send(b"x" * 10_000)
                time.sleep(0.001)
    assert sent < 3_000_000


def test_http_1_0_and_close_are_heeded(address: str) -> None:
    for text in (get("/now?k=1", "Connection: close\r\n"), get("/now?k=1").replace(b"1.1", b"1.0")):
        with connected(address) as made:
            made.sendall(text)
            ((status, headers, _),) = replies(made, 1)
            assert (status, headers["connection"]) == (200, "close")
            assert made.recv(1) == b""


def test_a_body_that_does_not_come_is_408(address: str) -> None:
    for size in (10, 90_000):
        with connected(address) as made:
            made.sendall(post(b" " * size)[: -(size - 5)])
            ((status, _, _),) = replies(made, 1)
            assert status == 408
            assert made.recv(1) == b""


def test_a_silent_connection_is_closed(address: str) -> None:
    with connected(address) as silent, connected(address) as busy:
        began = time.monotonic()
        busy.sendall(get("/now?k=1"))
        replies(busy, 1)
        assert silent.recv(1) == b""
        assert busy.recv(1) == b""
        assert 1.0 < time.monotonic() - began < 8


def test_one_too_many_is_told_at_once(address: str) -> None:
    """Four may wait; the others get their 503 while those are still waiting."""
    with ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(httpx.get, f"{address}/wait?k=900") for _ in range(4)]
        with httpx.Client(base_url=address) as client:
            deadline = time.monotonic() + 0.8
            while client.get("/now?k=1").status_code == 200 and time.monotonic() < deadline:
                time.sleep(0.005)
            took = []
            for _ in range(20):
                began = time.perf_counter()
                response = client.get("/now?k=1")
                took.append(time.perf_counter() - began)
                assert response.status_code == 503
                assert response.headers["retry-after"] == "1"
                assert "4 requests are under way already" in response.json()["detail"]
            assert sorted(took)[10] < 0.01
            assert client.get("/livez").status_code == 200
            assert client.get("/readyz").status_code == 200
        assert [one.result().status_code for one in waiting] == [200] * 4
    assert httpx.get(f"{address}/now?k=1").status_code == 200


def test_a_line_of_work_is_bounded_too(address: str) -> None:
    """Twelve at once of 30 ms each in the loop: four or a few more are done, the rest learn it."""
    with ThreadPoolExecutor(12) as pool:
        makers = [connected(address) for _ in range(12)]
        for made in makers:
            made.sendall(get("/now?k=1"))
            replies(made, 1)
        for made in makers:
            made.sendall(get("/work?k=30"))
        found = [one[0] for one in pool.map(lambda made: replies(made, 1), makers)]
        for made in makers:
            made.close()
    statuses = [status for status, _, _ in found]
    assert set(statuses) == {200, 503}
    assert 4 <= statuses.count(200) < 12


def test_the_end_finishes_what_runs_and_tells_others_to_close() -> None:
    with listening_app(ROUTES, SMALL) as (address, server, app), ThreadPoolExecutor(4) as pool:
        running = pool.submit(httpx.get, f"{address}/wait?k=1000")
        stream = pool.submit(httpx.get, f"{address}/endless")
        with connected(address) as idle, httpx.Client(base_url=address) as client:
            assert client.get("/readyz").status_code == 200
            time.sleep(0.2)
            server.stop()
            response = client.get("/readyz")
            assert response.status_code == 503
            assert "stopping" in response.json()["detail"]
            assert response.headers["connection"] == "close"
            assert client.get("/now?k=1").status_code == 200  # who still comes is answered
            assert idle.recv(1) == b""
        assert running.result(5).status_code == 200
        assert stream.result(5).text.startswith("data: 1")
        assert app.running == 0


def test_many_clients_at_once_get_their_own_answers() -> None:
    errors: list[object] = []

    def ask(address: str, first: int) -> None:
        with httpx.Client(base_url=address) as client:
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
