"""HTTP on real sockets: pipelines, pieces, lengths, overload, and the end."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.service_process import listening_app
from tests.support.waiting import PATIENCE, until
from xorec.service.api.base import Answer
from xorec.service.api.list_request import RecommendBody, RecommendQuery
from xorec.service.config import Config
from xorec.service.http import server as server_module
from xorec.service.http.app import App, Turns
from xorec.service.http.exchange import Stream
from xorec.service.http.routes import Routes


class Echo(Answer):
    """What a handler got."""

    k: int
    size: int = 0


ROUTES = Routes()


@ROUTES("GET", "/wait")
async def waits(service: Any, query: RecommendQuery) -> Echo:
    await asyncio.sleep(query.k / 1000)
    return Echo(k=query.k)


@ROUTES("GET", "/now")
def at_once(service: Any, query: RecommendQuery) -> Echo:
    return Echo(k=query.k)


GO_ON, AT_WORK, STREAMS = threading.Event(), threading.Event(), threading.Event()


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """Until then `held` waits, and `works`; a test that failed holds up nobody."""
    for one in (GO_ON, AT_WORK, STREAMS):
        one.clear()
    yield GO_ON
    GO_ON.set()


@ROUTES("GET", "/held")
@ROUTES("POST", "/write", writer=True)
async def held(service: Any, query: RecommendQuery) -> Echo:
    """Waits until it is let go."""
    while not GO_ON.is_set():
        await asyncio.sleep(0.005)
    return Echo(k=query.k)


LOOPS: list[Any] = []
"""In which `works` has worked."""


@ROUTES("GET", "/work")
def works(service: Any, query: RecommendQuery) -> Echo:
    """In the loop, which does nothing else until it is let go."""
    LOOPS.append(asyncio.get_running_loop())
    AT_WORK.set()
    assert GO_ON.wait(PATIENCE)
    return Echo(k=query.k)


@ROUTES("POST", "/take")
def takes(service: Any, body: RecommendBody) -> Echo:
    return Echo(k=body.k, size=len(body.deny))


@ROUTES("GET", "/endless", limited=False, media_type="text/event-stream")
def endless(service: Any) -> Stream:
    async def events() -> AsyncIterator[bytes]:
        while True:
            yield b"data: 1\n\n"
            STREAMS.set()  # the first is on its way
            await asyncio.sleep(0.01)

    return Stream(events(), "text/event-stream")


SMALL = {"body_bytes": 100_000, "concurrent": 4, "body_seconds": PATIENCE}
Listening = tuple[str, Callable[[], None], App]


def limited_app(**limits: float) -> AbstractContextManager[Listening]:
    return listening_app(ROUTES, Config.model_validate({"limits": {**SMALL, **limits}}))


@pytest.fixture(scope="module")
def listening() -> Iterator[Listening]:
    with limited_app() as listening:
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


HEAD = "POST /take HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def post(body: bytes, more: str = "") -> bytes:
    return f"{HEAD}Content-Length: {len(body)}\r\n{more}\r\n".encode() + body


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
    with connected(address) as made:
        made.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
        made.sendall(b'5\r\n{"k":\r\n3\r\n 9}\r\n0\r\n\r\n')
        assert replies(made, 1)[0][2]["k"] == 9
        made.sendall(f"{HEAD}Content-Length: 8\r\nExpect: 100-continue\r\n\r\n".encode())
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


SMUGGLED = get("/now?k=9")
FRAMINGS = {
    "a length that is no number": post(b"").replace(b"Length: 0", b"Length: -1"),
    "a signed length": post(b'{"k": 7}').replace(b"Length: 8", b"Length: +8"),
    "a long length": post(b"").replace(b"Length: 0", b"Length: " + 30 * b"9"),
    "a list of lengths": post(b'{"k": 7}').replace(b"Length: 8", b"Length: 8, 8"),
    "two lengths": post(b'{"k": 7}', "Content-Length: 4\r\n"),
    "an unknown coding": f"{HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".encode(),
    "two codings": f"{HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n".encode(),
    "a folded header": get("/now?k=1", "X-A: a\r\n b\r\n"),
    "a blank before the colon": get("/now?k=1", "X-A : a\r\n"),
    "many headers": get("/now?k=1", "".join(f"X-{n}: a\r\n" for n in range(200))),
    "no HTTP": b"nonsense\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01",
    "HTTP 9": b"GET / HTTP/9\r\n\r\n",
}


@pytest.mark.parametrize("name", FRAMINGS)
def test_a_wrong_frame_closes_the_connection(address: str, name: str) -> None:
    """What follows it is no request."""
    with connected(address) as made:
        made.sendall(FRAMINGS[name] + SMUGGLED)
        ((status, headers, _),) = replies(made, 1)
        assert status in (400, 413, 431)
        assert headers["connection"] == "close"
        assert made.recv(1) == b""


def test_length_and_chunks_together_are_chunks_and_the_end(address: str) -> None:
    with connected(address) as made:
        body = b'8\r\n{"k": 7}\r\n0\r\n\r\n'
        made.sendall(f"{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        made.sendall(body + SMUGGLED)
        ((status, _, answer),) = replies(made, 1)
        assert (status, answer["k"]) == (200, 7)
        assert made.recv(1) == b""


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_a_body_behind_an_upgrade_is_the_body(address: str, protocol: str) -> None:
    """Also with the headers of Java's HttpClient: no upgrade takes place."""
    more = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AA\r\n"
    body = b'{"k": 7}'.ljust(len(SMUGGLED))
    with connected(address) as made:
        made.sendall(post(body, more) + post(b'{"k": 8}'))
        assert [answer["k"] for _, _, answer in replies(made, 2)] == [7, 8]
        made.sendall(post(SMUGGLED, more) + post(b'{"k": 8}'))
        (first, second) = replies(made, 2)
        assert (first[0], second[2]["k"]) == (400, 8)


@pytest.mark.parametrize("more", ["Content-Length: 9", "Transfer-Encoding: chunked"])
def test_a_body_that_breaks_off_is_not_taken(address: str, more: str) -> None:
    with connected(address) as made:
        begin = '{"k": 7}' if "Length" in more else '7\r\n{"k": 7\r\n'
        made.sendall(f"{HEAD}{more}\r\n\r\n{begin}".encode())
        made.shutdown(socket.SHUT_WR)
        assert made.makefile("rb").read().split()[1:2] in ([], [b"400"])


def test_http_1_0_and_close_are_heeded(address: str) -> None:
    for text in (get("/now?k=1", "Connection: close\r\n"), get("/now?k=1").replace(b"1.1", b"1.0")):
        with connected(address) as made:
            made.sendall(text)
            assert replies(made, 1)[0][0] == 200
            assert made.recv(1) == b""


def test_a_body_that_does_not_come_is_408() -> None:
    with limited_app(body_seconds=0.2) as (address, _, _):
        for size in (10, 90_000):
            with connected(address) as made:
                made.sendall(post(b" " * size)[: -(size - 5)])
                ((status, _, _),) = replies(made, 1)
                assert status == 408
                assert made.recv(1) == b""


def test_a_silent_connection_is_closed() -> None:
    """One that never asks, one that stops in its head, one that has asked."""
    with limited_app(idle_seconds=0.5) as (address, _, _):
        for begin in (b"", b"GET /now", get("/now?k=1")):
            with connected(address) as made:
                made.sendall(begin)
                expected = b"HTTP/1.1 200" if b"k=1" in begin else b""
                assert made.makefile("rb").read().startswith(expected)


def test_a_stream_ends_when_its_client_has_gone(listening: Listening) -> None:
    address, _, app = listening
    STREAMS.clear()
    with connected(address) as made:
        made.sendall(get("/endless"))
        assert STREAMS.wait(PATIENCE)
        until(lambda: len(app._streams) == 1)
    until(lambda: not app._streams)


def test_one_too_many_is_told_at_once(listening: Listening, go_on: threading.Event) -> None:
    """Four may wait; the others get their 503 while those are still waiting."""
    address, _, app = listening
    until(lambda: app.running == 0)
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


def test_writes_are_counted_apart(go_on: threading.Event) -> None:
    app_of_two = limited_app(concurrent=1, writes=2)
    with app_of_two as (address, _, app), ThreadPoolExecutor(2) as pool:
        try:
            waiting = [pool.submit(httpx.post, f"{address}/write", timeout=PATIENCE) for _ in "12"]
            until(lambda: app.running == 2)
            assert httpx.post(f"{address}/write", timeout=PATIENCE).status_code == 503
            assert answer_of(f"{address}/now?k=1").status_code == 200
        finally:
            go_on.set()
        assert [one.result(PATIENCE).status_code for one in waiting] == [200, 200]


def test_a_line_of_work_is_bounded_too(
    address: str, go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve of which the first keeps the loop: when it looks up, there are eleven at once. Four or
    a few more are done, the rest learn it."""
    monkeypatch.setattr(Turns, "SLICE_NS", -1)  # a slice is used up when it begins
    with ExitStack() as stack:
        makers = [stack.enter_context(connected(address)) for _ in range(12)]
        for made in makers:
            made.sendall(get("/now?k=1"))
            replies(made, 1)
        makers[0].sendall(get("/work?k=30"))
        assert AT_WORK.wait(PATIENCE)
        for made in makers[1:]:
            made.sendall(get("/work?k=30"))
        until(lambda: len(LOOPS[-1]._ready) >= 11)  # they wait for the loop
        go_on.set()
        statuses = [replies(made, 1)[0][0] for made in makers]
    assert set(statuses) == {200, 503}
    assert 4 <= statuses.count(200) < 12


def test_the_end_finishes_what_runs_and_tells_others_to_close(
    go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "GRACE", 2.0)
    monkeypatch.setattr(server_module, "FINISH", PATIENCE)
    with limited_app() as (address, stop, app), ThreadPoolExecutor(2) as pool:
        try:
            running = pool.submit(answer_of, f"{address}/held?k=9")
            stream = pool.submit(answer_of, f"{address}/endless")
            with client_of(address) as client:
                assert client.get("/readyz").status_code == 200
                until(lambda: app.running == 1)
                assert STREAMS.wait(PATIENCE)
                stop()
                until(lambda: app.health.state == "stopping")
                response = client.get("/readyz")
                assert response.status_code == 503
                assert "stopping" in response.json()["detail"]
                assert response.headers["connection"] == "close"
                assert client.get("/now?k=1").status_code == 200  # who still comes is answered
            assert not running.done()
        finally:
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


def test_a_slice_begins_with_those_that_wait_longest() -> None:
    async def run() -> list[int]:
        turns, done = Turns(), list[int]()
        assert not turns.must_wait()
        turns.AT_ONCE, turns.SLICE_NS = 2, -1  # used up when it begins

        async def request(number: int) -> None:
            if turns.must_wait():
                await turns.turn()
            done.append(number)

        waiting = [asyncio.create_task(request(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert done == []
        waiting.append(asyncio.create_task(request(5)))  # behind those that wait
        await asyncio.gather(*waiting)
        return done

    assert asyncio.run(run()) == [0, 1, 2, 3, 4, 5]
