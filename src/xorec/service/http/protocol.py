"""Requests that wait for the loop: so many at most, answered in short slices.

Handlers run in the loop itself, one after the other. While a slice runs nobody is read from, so a
slice is short: whoever is one too many learns it within milliseconds, however long the line is.
"""

from __future__ import annotations

import asyncio
import http
import time
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xorec.service.http.app import ON_ALL, App
from xorec.service.http.endpoint import Endpoint
from xorec.service.http.exchange import Reply, Request
from xorec.service.http.problems import problem

SLICE = 2_000_000
"""Nanoseconds of answering between two looks at the sockets."""
Answer = Callable[[], None]


class RequestQueue:
    """First come, first served. more: further requests that are under way, elsewhere.

    Writes are short here and then wait for the disk: they are counted apart, so that many of them
    at once turn nobody away who asks for a list.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, most: int, writes: int, more: Callable[[], int]
    ) -> None:
        self._loop, self._most, self._more = loop, most, more
        self._most_writes, self._writes = writes, 0
        self._waiting: deque[tuple[Answer, bool]] = deque()
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def is_full(self, *, writes: bool) -> bool:
        """Whether one more would be too many. writes: one that will wait for the disk."""
        if writes:
            return self._writes >= self._most_writes
        return len(self._waiting) - self._writes + self._more() >= self._most

    def add(self, answer: Answer, *, writes: bool) -> None:
        """Call `answer` when it is its turn."""
        self._waiting.append((answer, writes))
        self._writes += writes
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        waiting, until = self._waiting, time.perf_counter_ns() + SLICE
        while waiting:
            answer, writes = waiting.popleft()
            self._writes -= writes
            answer()
            if time.perf_counter_ns() > until and waiting:
                self._loop.call_soon(self._work)
                return
        self._scheduled = False


LONGEST_HEAD = 65_536
"""Bytes of a request's first line and headers."""
_SMALL = 65_536
"""Bytes of a body that take the short way."""
_EVERY = b"".join(b"%s: %s\r\n" % pair for pair in ON_ALL)


class ShortCycle:
    """A request on the short way: what uvicorn's protocol asks of the one that is under way."""

    __slots__ = (
        "body",
        "disconnected",
        "endpoint",
        "keep_alive",
        "message_event",
        "more_body",
        "request",
        "response_complete",
    )

    def __init__(self, request: Request, endpoint: Endpoint, keep_alive: bool) -> None:
        self.request, self.endpoint, self.keep_alive = request, endpoint, keep_alive
        self.body = b""
        self.more_body = True
        self.disconnected = self.response_complete = False
        self.message_event = _NOBODY_WAITS


class _NobodyWaits:
    def set(self) -> None:
        """Of use on uvicorn's way only."""


_NOBODY_WAITS = _NobodyWaits()


class HttpProtocol(HttpToolsProtocol):
    """One connection."""

    cycle: Any
    app: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._app: App = self.config.app  # type: ignore[assignment]
        self._queue = _queue_of(self._app, self.loop)
        self._head_bytes = 0
        self._in_head = False
        self.silent_since = self.loop.time()

    # -- what comes in

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD:
                self._in_head = False
                self._refuse(431, f"a request has {LONGEST_HEAD:,} bytes before its body at most.")

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self._in_head, self._head_bytes = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        cycle = self._short_cycle()
        if cycle is not None:
            self.cycle = cycle
            return
        url, headers, expect = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expect
        self.headers.extend(headers)
        super().on_headers_complete()

    def _short_cycle(self) -> ShortCycle | None:
        """The request, if it is an ordinary one."""
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy or self.expect_100_continue or self.flow.write_paused:
            return None
        parser = self.parser
        path, _, query = self.url.partition(b"?")
        if b"%" in path or b"#" in query or parser.should_upgrade():
            return None
        method, where = parser.get_method().decode("ascii"), path.decode("ascii")
        endpoint = self._app.find(method, where)
        if endpoint is None or endpoint.route.answer is None:
            return None
        headers = dict(self.headers)
        if b"transfer-encoding" in headers or not _is_small(headers.get(b"content-length")):
            return None
        client = self.client[0] if self.client else ""
        request = Request(method, where, query, headers, client)
        keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        return ShortCycle(request, endpoint, keep_alive)

    def on_body(self, body: bytes) -> None:
        if type(self.cycle) is ShortCycle:
            self.cycle.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        cycle = self.cycle
        if type(cycle) is not ShortCycle:
            super().on_message_complete()
        elif cycle.more_body:
            cycle.more_body = False
            writes = cycle.endpoint.waits_for_disk
            full = self._app.is_full(cycle.endpoint) or self._queue.is_full(writes=writes)
            if cycle.endpoint.route.limited and full:
                self._app.name(cycle.request)
                self._write(cycle, self._app.turned_away(cycle.request.id))
            else:
                self._queue.add(lambda: self._answer(cycle), writes=writes)

    # -- what goes out

    def _answer(self, cycle: ShortCycle) -> None:
        """Run the handler; where it has to wait, a task goes on with it."""
        app, endpoint, request = self._app, cycle.endpoint, cycle.request
        if cycle.disconnected:
            return
        try:
            app.name(request)
            app.check(endpoint, request)
            result: Any = app.start(endpoint, request, cycle.body)
            if type(result) is not Reply:
                if endpoint.is_async and isinstance(result, Coroutine) and app.is_eager(endpoint):
                    try:
                        waits_for = result.send(None)
                    except StopIteration as done:
                        given = done.value
                        if type(given) is not Reply:
                            given = app.serialised(endpoint, request, given)
                        self._write(cycle, given)
                        return
                    result = _rest(result, waits_for)
                task = self.loop.create_task(self._finish(cycle, result))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
                return
            reply = result
        except Exception as error:
            reply = app.refuse(request, error)
        self._write(cycle, reply)

    async def _finish(self, cycle: ShortCycle, result: Any) -> None:
        app = self._app
        try:
            reply = await app.finish(cycle.endpoint, cycle.request, result)
            assert isinstance(reply, Reply)
        except Exception as error:
            reply = app.refuse(cycle.request, error)
        self._write(cycle, reply)

    def _write(self, cycle: ShortCycle, reply: Reply) -> None:
        request, app = cycle.request, self._app
        cycle.response_complete = True
        if not self.transport.is_closing():
            if app.health.state == "stopping":
                cycle.keep_alive = False
            head = self._head(request, reply, cycle.keep_alive)
            self.transport.write(head if request.method == "HEAD" else head + reply.body)
            if not cycle.keep_alive:
                self.transport.close()
        app.note(cycle.endpoint, request, reply.status, len(reply.body))
        if self.pipeline or self.flow.read_paused:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self.silent_since = self.loop.time()

    def _head(self, request: Request, reply: Reply, keep_alive: bool) -> bytes:
        more = b"".join(b"%s: %s\r\n" % pair for pair in reply.headers) if reply.headers else b""
        return b"%scontent-type: %s\r\ncontent-length: %d\r\nx-request-id: %s\r\n%s%s%s%s\r\n" % (
            _STATUS_LINES[reply.status],
            reply.media_type,
            len(reply.body),
            request.id.encode("ascii"),
            _EVERY,
            more,
            _rendered(self.server_state.default_headers),
            b"" if keep_alive else b"connection: close\r\n",
        )

    def on_response_complete(self) -> None:
        self.silent_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is no HTTP request that can be understood.")

    def _refuse(self, status: int, detail: str) -> None:
        """For what is no request: say so and close."""
        request = Request("", "")
        self._app.name(request)
        reply = problem(status, detail, request.id)
        self.transport.write(self._head(request, reply, keep_alive=False) + reply.body)
        self.transport.close()
        self._app.note(None, request, status, len(reply.body))

    # -- silence

    def close_if_silent(self, now: float, idle: float, body: float) -> None:
        """End a connection that sends nothing, or not the body that it has announced."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            if now - self.silent_since > idle:
                self.transport.close()
        elif type(cycle) is ShortCycle and cycle.more_body and _age(cycle.request) > body:
            cycle.response_complete = True
            self._refuse(408, f"no body came in {body:g} seconds.")


def close_silent(connections: Iterable[Any], idle: float, body: float) -> None:
    """Look at all connections, about once a second."""
    for connection in list(connections):
        connection.close_if_silent(connection.loop.time(), idle, body)


def _age(request: Request) -> float:
    return (time.perf_counter_ns() - request.began) * 1e-9


def _is_small(length: bytes | None) -> bool:
    return length is None or (length.isdigit() and len(length) < 8 and int(length) <= _SMALL)


@types.coroutine
def _rest(begun: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """A coroutine that has begun already and waits for something: go on where it is."""
    while True:
        failure: BaseException | None = None
        try:
            value = yield waits_for
        except BaseException as error:
            failure = error
        try:
            waits_for = begun.send(value) if failure is None else begun.throw(failure)
        except StopIteration as done:
            return done.value


def _queue_of(app: App, loop: asyncio.AbstractEventLoop) -> RequestQueue:
    """All connections of a loop share one."""
    if app.queue is None:
        limits = app.limits
        app.queue = RequestQueue(loop, limits.concurrent, limits.writes, lambda: app.working)
    return app.queue


_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode())
    for status in http.HTTPStatus
}
_last: tuple[Any, bytes] = (None, b"")


def _rendered(headers: list[tuple[bytes, bytes]]) -> bytes:
    """uvicorn's own headers (the date), which change once a second."""
    global _last
    if _last[0] is not headers:
        _last = headers, b"".join(b"%s: %s\r\n" % pair for pair in headers)
    return _last[1]
