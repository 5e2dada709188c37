"""Connections to a shard: kept, bounded in number and in time, and honest about who failed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.support.waiting import PATIENCE
from xorec.service.http.problems import HttpError
from xorec.service.shards.front import Front
from xorec.service.shards.remote import RemoteShard
from xorec.service.shards.share import Share

Talk = Callable[[socket.socket, int], None]
"""What a stand-in does with a connection, and the number of that."""


@contextmanager
def stand_in(talk: Talk) -> Iterator[tuple[str, list[int]]]:
    """A server that does what a test says; its address, and who came."""
    listening = socket.create_server(("127.0.0.1", 0))
    came: list[int] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            came.append(len(came))
            threading.Thread(target=guarded, args=(connection, came[-1]), daemon=True).start()

    def guarded(connection: socket.socket, number: int) -> None:
        with connection:
            try:
                talk(connection, number)
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", came
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def reply(body: bytes = b"{}", status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode() + body


def request_of(connection: socket.socket) -> bytes:
    """One request, whole."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            raise OSError
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def answers(connection: socket.socket, number: int) -> None:
    while request_of(connection):
        connection.sendall(reply(b'{"from": %d}' % number))


MADE: list[RemoteShard] = []


def remote(url: str, seconds: float = PATIENCE, connections: int = 2, **how: Any) -> RemoteShard:
    MADE.append(RemoteShard(url, Share(2, 3), seconds=seconds, connections=connections, **how))
    return MADE[-1]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while MADE:
        MADE.pop().close()


def test_connections_are_kept_and_the_request_is_whole() -> None:
    seen: list[bytes] = []

    def talk(connection: socket.socket, number: int) -> None:
        while True:
            seen.append(request_of(connection))
            connection.sendall(reply(b'{"a": 1}'))

    with stand_in(talk) as (url, came):
        shard = remote(url, key="0123456789abcdef")
        for _ in range(5):
            assert shard.ask("POST", "/v1/shard/search", b'{"k": 3}').reply() == {"a": 1}
        shard.close()
    assert came == [0]
    head, _, body = seen[-1].partition(b"\r\n\r\n")
    assert body == b'{"k": 3}'
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/shard/search HTTP/1.1"
    assert f"Host: {url.removeprefix('http://')}" in lines
    assert "Authorization: Bearer 0123456789abcdef" in lines


def test_all_shards_work_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

    def talk(connection: socket.socket, number: int) -> None:
        request_of(connection)
        both.wait()  # nobody answers before both were asked
        connection.sendall(reply(b"[1]"))

    with stand_in(talk) as (one, _), stand_in(talk) as (two, _):
        front = Front([remote(one), remote(two)], 2)
        assert front.ask("GET", "/v1/shard", [b"", b""]) == [[1], [1]]
        front.close()


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    def talk(connection: socket.socket, number: int) -> None:
        request_of(connection)
        connection.sendall(reply(b"[%d]" % number))  # and closes

    with stand_in(talk) as (url, came):
        shard = remote(url)
        assert [shard.ask("GET", "/").reply() for _ in range(3)] == [[0], [1], [2]]
        assert came == [0, 1, 2]


def test_one_that_closes_when_it_is_asked_again_is_asked_on_a_new_connection() -> None:
    def talk(connection: socket.socket, number: int) -> None:
        request_of(connection)
        connection.sendall(reply(b"[%d]" % number))
        connection.recv(1)  # it looked alive until the next request was on its way

    with stand_in(talk) as (url, _):
        shard = remote(url)
        assert [shard.ask("GET", "/").reply() for _ in range(2)] == [[0], [1]]


def slow(connection: socket.socket, number: int) -> None:
    request_of(connection)
    connection.recv(1)  # until the other side has hung up


def trickle(connection: socket.socket, number: int) -> None:
    """Until the other side has hung up; much longer than it may take."""
    request_of(connection)
    for letter in reply(b"[]" + b" " * 400):
        connection.sendall(bytes([letter]))
        time.sleep(0.05)


def closes(connection: socket.socket, number: int) -> None:
    request_of(connection)


def half(connection: socket.socket, number: int) -> None:
    request_of(connection)
    connection.sendall(reply(b"[1, 2]")[:-3])


def says(text: bytes) -> Talk:
    def talk(connection: socket.socket, number: int) -> None:
        request_of(connection)
        connection.sendall(text)

    return talk


@pytest.mark.parametrize(
    ("talk", "line"),
    [
        (slow, "does not answer in 0.3 seconds"),
        (trickle, "does not answer in 0.3 seconds"),
        (closes, "cannot be reached: it closed the connection"),
        (half, "cannot be reached: it closed the connection"),
        (says(b"220 smtp.example ESMTP\r\n\r\n"), "does not speak HTTP"),
        (says(reply(b"<html>")), "answers no JSON"),
        (
            says(reply(b'{"detail": "this shard serves the model x."}', "409 Conflict")),
            "answers 409: this shard serves the model x",
        ),
    ],
)
def test_who_fails_is_named_soon(talk: Talk, line: str) -> None:
    with stand_in(talk) as (url, _):
        seconds = 0.3 if "0.3 seconds" in line else PATIENCE
        shard = remote(url, seconds=seconds, connections=1)
        for _ in range(2):  # and its only connection is free again
            with pytest.raises(HttpError) as error:
                shard.ask("GET", "/").reply()
            assert error.value.status == 503
            assert str(error.value) == f"shard 2 of 3 ({url}) {line}."


def test_nobody_there_and_then_somebody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="xorec")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))  # nobody else takes the port meanwhile
        shard = remote(f"http://127.0.0.1:{listening.getsockname()[1]}")
        for _ in range(3):
            with pytest.raises(HttpError, match="cannot be reached: Connection refused"):
                shard.ask("GET", "/")
        listening.listen()

        def serve() -> None:
            with listening.accept()[0] as connection, suppress(OSError):
                answers(connection, 7)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        for _ in range(3):
            assert shard.ask("GET", "/").reply() == {"from": 7}
        shard.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()
    said = [one.getMessage() for one in caplog.records]
    assert said == [
        f"shard 2 of 3 ({shard.url}) cannot be reached: Connection refused.",
        f"shard 2/3 ({shard.url}) answers again",
    ]


def test_so_many_connections_at_most() -> None:
    most, now, wanted, changed = [0], [0], [0], threading.Condition()

    def talk(connection: socket.socket, number: int) -> None:
        """Nobody is answered before three are asked at once, and all twelve want a connection."""
        while request_of(connection):
            with changed:
                now[0] += 1
                most[0] = max(most[0], now[0])
                changed.notify_all()
                assert changed.wait_for(lambda: most[0] >= 3 and wanted[0] >= 12, PATIENCE)
                now[0] -= 1
            connection.sendall(reply())

    with stand_in(talk) as (url, came):
        shard = remote(url, connections=3)
        take = shard.take

        def taken(*how: Any, **more: Any) -> Any:
            with changed:
                wanted[0] += 1
                changed.notify_all()
            return take(*how, **more)

        shard.take = taken  # type: ignore[method-assign]
        threads = [
            threading.Thread(target=lambda: [shard.ask("GET", "/").reply() for _ in range(5)])
            for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert len(came) <= 3
        assert most[0] == 3
        held = [shard.ask("GET", "/") for _ in range(3)]
        shard.seconds = 0.1
        with pytest.raises(HttpError, match=r"does not answer in 0\.1 seconds"):
            shard.ask("GET", "/")
        for one in held:
            one.abandon()
            one.abandon()  # twice does no harm
        shard.seconds = PATIENCE
        assert shard.ask("GET", "/").reply() == {}


def test_when_one_fails_the_others_are_not_left_with_a_reply_on_the_way() -> None:
    with stand_in(answers) as (good, came), stand_in(closes) as (bad, _):
        for order in ((bad, good), (good, bad)):
            front = Front([remote(one, connections=1) for one in order], 2)
            for _ in range(3):
                with pytest.raises(HttpError, match="closed the connection"):
                    front.ask("GET", "/", [b"", b""])
            kept = front.shards[order.index(good)]
            assert kept.ask("GET", "/").reply() == {"from": came[-1]}
            front.close()
