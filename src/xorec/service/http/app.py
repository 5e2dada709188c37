"""App: answers requests. It is an RSGI application for granian, and an ASGI one for other servers.

A request is named, its endpoint found, limits, keys and origins checked, its body read, its handler
run. Handlers run in the event loop one after the other, or in threads (`Route.thread`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel

from xorec.core.errors import XorecError
from xorec.core.printable import did_you_mean, quoted
from xorec.core.progress import logger
from xorec.service.api.base import Answer
from xorec.service.config import Config
from xorec.service.http.access import ApiKeys, Origins
from xorec.service.http.endpoint import (
    CLOSE,
    Endpoint,
    declared_length,
    options_route,
    read_parts,
    wrong_method,
)
from xorec.service.http.exchange import Headers, Reply, Request, RequestIds, Stream
from xorec.service.http.problems import HttpError, Refusal, busy, problem_reply
from xorec.service.http.routes import Route
from xorec.service.log.records import Exposure
from xorec.service.metrics import SLOW_NS

if TYPE_CHECKING:
    from xorec.service.logs import AccessLog
    from xorec.service.metrics import Metrics
    from xorec.service.service import Service

Forward = Callable[[Request, bytes], Awaitable[Reply]]
Read = Callable[[int | None], Awaitable[bytes]]
"""Reads the body, given its declared length."""
State = Literal["starting", "ready", "stopping"]
_ON_ALL: Headers = (("x-content-type-options", "nosniff"), ("cache-control", "no-store"))


@dataclass
class WorkerHealth:
    """Where the service is in its life; the same object for all parts of a worker."""

    state: State = "starting"


class Turns:
    """Requests are answered in slices of 2 ms: between them the loop rejects excess requests.

    A request that arrives while a slice is used up, or while others wait, waits for its turn.
    """

    SLICE_NS = 2_000_000
    AT_ONCE = 16
    """Requests that a new slice begins with."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._ends = 0
        self._scheduled = False

    def must_wait(self) -> bool:
        """Whether a request has to wait for its turn."""
        now = time.perf_counter_ns()
        if not self._scheduled:
            self._ends = now + self.SLICE_NS
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._next_slice)
        return now > self._ends or bool(self._waiting)

    def turn(self) -> asyncio.Future[None]:
        """Done when it is the request's turn; first come, first served."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return turn

    def _next_slice(self) -> None:
        for _ in range(min(self.AT_ONCE, len(self._waiting))):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
        self._scheduled = bool(self._waiting)
        if self._waiting:
            self._ends = 0  # requests that come now queue behind those that wait
            asyncio.get_running_loop().call_soon(self._next_slice)


class App:
    """Answers requests. service: what handlers work with, None until it is loaded.

    forward: hands a request that only the writer may answer on to it; None in the writer itself.
    """

    def __init__(
        self,
        config: Config,
        routes: Iterable[Route],
        health: WorkerHealth,
        metrics: Metrics,
        *,
        worker: int = 0,
        forward: Forward | None = None,
        access_log: AccessLog | None = None,
    ) -> None:
        self.service: Service | None = None
        self.health = health
        self.limits = config.limits
        self._forward = forward
        self._metrics = metrics
        self._activity = metrics.activity
        self._took = metrics.activity.took.append
        self._access_log = access_log
        self._keys, self._origins = ApiKeys(config.keys), Origins(config)
        self._ids = RequestIds(worker)
        self._threads = ThreadPoolExecutor(config.threads, thread_name_prefix="handler")
        self._overloaded = busy(
            f"{self.limits.concurrent} requests are under way already: come again."
        )
        self._turned_away = Refusal(self._overloaded).reply
        self._turns = Turns()
        self._running = self._writing = 0
        self._streams: set[asyncio.Task[Any]] = set()
        self._table: dict[str, dict[str, Endpoint]] = {}
        for route in routes:
            methods = self._table.setdefault(route.path, {})
            assert route.method not in methods, f"{route.method} {route.path} stands twice"
            methods[route.method] = endpoint = Endpoint(route, config.limits)
            if route.method == "GET":
                methods["HEAD"] = endpoint
        for path, methods in self._table.items():
            methods["OPTIONS"] = Endpoint(options_route(path, methods), config.limits)

    @property
    def running(self) -> int:
        return self._running + self._writing

    # -- from a server

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        request = Request(
            scope.method,
            scope.path,
            scope.query_string,
            dict(scope.headers.items()),
            scope.client.rpartition(":")[0],
        )

        async def read(declared: int | None) -> bytes:
            if declared is not None and declared <= self.limits.body_bytes:
                try:
                    whole: bytes = await protocol()
                except Exception:
                    raise HttpError(400, "the body broke off.", headers=CLOSE) from None
                return whole
            return await read_parts(protocol, declared, self.limits.body_bytes)

        endpoint, reply = await self._answer(request, read)
        headers = self._headers(request, reply)
        if isinstance(reply, Stream):
            transport = protocol.response_stream(reply.status, headers)
            await self._send_stream(endpoint, request, reply, transport.send_bytes)
        else:
            protocol.response_bytes(reply.status, headers, reply.body)
            self._note(endpoint, request, reply.status, len(reply.body))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI: for tests, and for an application that mounts the service."""
        if scope["type"] != "http":
            return
        request = Request(
            scope["method"],
            scope["path"],
            scope["query_string"].decode("latin-1"),
            {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]},
            (scope.get("client") or ("",))[0],
        )

        async def parts() -> AsyncIterator[bytes]:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise HttpError(400, "the client went away.")
                yield message.get("body", b"")
                more = message.get("more_body", False)

        async def read(declared: int | None) -> bytes:
            return await read_parts(parts(), declared, self.limits.body_bytes)

        async def send_part(part: bytes) -> None:
            await send({"type": "http.response.body", "body": part, "more_body": True})

        endpoint, reply = await self._answer(request, read)
        raw = [(name.encode(), value.encode()) for name, value in self._headers(request, reply)]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        if isinstance(reply, Stream):
            await self._send_stream(endpoint, request, reply, send_part)
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.body", "body": reply.body})
            self._note(endpoint, request, reply.status, len(reply.body))

    async def reply(self, request: Request, body: bytes) -> Reply:
        """The whole reply to a request that came another way: from a worker, or a test."""

        async def read(declared: int | None) -> bytes:
            if len(body) > self.limits.body_bytes:
                raise HttpError(413, f"the body has {len(body):,} bytes: too many.")
            return body

        endpoint, reply = await self._answer(request, read)
        if isinstance(reply, Stream):
            whole = b"".join([part async for part in reply.parts])
            reply = Reply(reply.status, whole, reply.media_type, reply.headers)
        self._note(endpoint, request, reply.status, len(reply.body))
        return reply

    # -- the way of a request

    async def _answer(self, request: Request, read: Read) -> tuple[Endpoint | None, Reply | Stream]:
        """Its endpoint, if there is one, and its reply: an error is a reply, too."""
        request.id = self._ids.of(request.headers.get("x-request-id"))
        endpoint: Endpoint | None = None
        try:
            endpoint = self._find(request)
            if self._is_full(endpoint):
                return endpoint, self._turned_away(request.id)
            self._check(endpoint, request)
            body = await self._body(request, read) if endpoint.takes_body else b""
            return endpoint, await self._counted(endpoint, request, body)
        except Exception as error:
            return endpoint, self._refuse(request, error)

    def _find(self, request: Request) -> Endpoint:
        methods = self._table.get(request.path)
        if methods is None:
            hint = did_you_mean(request.path[:200], self._table)
            hint = hint or " /openapi.json lists what there is."
            raise HttpError(404, f"there is nothing at {quoted(request.path)}.{hint}")
        endpoint = methods.get(request.method)
        if endpoint is None:
            raise wrong_method(request.method, request.path, methods)
        return endpoint

    def _check(self, endpoint: Endpoint, request: Request) -> None:
        """Refuse who may not ask this, and everybody before the models are loaded."""
        self._origins.check(request.method, request.headers)
        self._keys.check(endpoint.rank, request.headers)
        if self.service is None and endpoint.route.limited:
            raise busy(f"the service is {self.health.state}: come again.")

    async def _body(self, request: Request, read: Read) -> bytes:
        seconds = self.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await read(declared_length(request.headers))
        except TimeoutError:
            raise HttpError(408, f"no body came in {seconds:g} seconds.", headers=CLOSE) from None

    def _is_full(self, endpoint: Endpoint) -> bool:
        """Whether one more of these would be too many; who waits for the disk is counted apart."""
        if not endpoint.route.limited:
            return False
        if endpoint.waits_for_disk:
            return self._writing >= self.limits.writes
        return self._running >= self.limits.concurrent

    async def _counted(self, endpoint: Endpoint, request: Request, body: bytes) -> Reply | Stream:
        """The reply to a request that counts among those under way."""
        if not endpoint.route.limited:
            return await self._run(endpoint, request, body)
        if self._is_full(endpoint):  # many bodies may have arrived together
            return self._turned_away(request.id)
        writes = endpoint.waits_for_disk
        self._running += not writes
        self._writing += writes
        try:
            if self._turns.must_wait():
                await self._turns.turn()
            return await self._run(endpoint, request, body)
        finally:
            self._running -= not writes
            self._writing -= writes

    async def _run(self, endpoint: Endpoint, request: Request, body: bytes) -> Reply | Stream:
        route = endpoint.route
        if route.writer and self._forward is not None:
            return await self._forward(request, body)
        given = endpoint.arguments(request, body)
        service: Any = self.service
        if service is not None and (follows := service.follow()) is not None:
            await follows  # first know what was acknowledged
        if route.thread:
            loop = asyncio.get_running_loop()
            result = await loop.run_in_executor(self._threads, endpoint.handler, service, *given)
        else:
            result = endpoint.handler(service, *given)
            if endpoint.is_async:
                result = await cast("Awaitable[Any]", result)
        if not isinstance(result, BaseModel):
            return result  # type: ignore[return-value]
        if isinstance(result, Answer):
            result.request_id = request.id
            result.took_us = (time.perf_counter_ns() - request.began) // 1000
        text = result.__pydantic_serializer__.to_json(result, by_alias=True)
        return Reply(route.status, text)

    def _refuse(self, request: Request, error: Exception) -> Reply:
        """The reply to an error; one that is not expected goes to the log with its traceback."""
        reply = problem_reply(error, request.id)
        if reply.status >= 500 and not isinstance(error, XorecError):
            logger.error(
                "%s %s failed (request %s)",
                request.method,
                request.path,
                request.id,
                exc_info=error,
                extra={"event": "failure", "request_id": request.id},
            )
        return reply

    def _headers(self, request: Request, reply: Reply | Stream) -> list[tuple[str, str]]:
        headers = [("x-request-id", request.id), *_ON_ALL, *reply.headers]
        if self.health.state == "stopping":
            headers.append(("connection", "close"))
        if reply.status != 204:
            headers.append(("content-type", reply.media_type))
        length = reply.length if isinstance(reply, Stream) else len(reply.body)
        if length is not None and reply.status != 204:
            headers.append(("content-length", str(length)))
        return headers

    async def _send_stream(
        self,
        endpoint: Endpoint | None,
        request: Request,
        stream: Stream,
        send: Callable[[bytes], Awaitable[Any]],
    ) -> None:
        """Send part by part. A stream without a length is ended when the service ends."""
        task, nbytes = asyncio.current_task(), 0
        if stream.length is None and task is not None:
            self._streams.add(task)
        try:
            async for part in stream.parts:
                try:
                    await send(part)
                except Exception:
                    break  # the client went away
                nbytes += len(part)
        except asyncio.CancelledError:
            if self.health.state != "stopping":
                raise
        except Exception as error:  # too late to say so: the connection ends before its length
            trace = error.__traceback__ and error.__traceback__.tb_next
            self._refuse(request, error.with_traceback(trace))  # this frame would keep it open
        finally:
            if task is not None:
                self._streams.discard(task)
            self._note(endpoint, request, stream.status, nbytes)

    # -- figures, and the end

    def _note(self, endpoint: Endpoint | None, request: Request, status: int, nbytes: int) -> None:
        """Count the request, and write a line if there is an access log."""
        took = time.perf_counter_ns() - request.began
        path = "unmatched" if endpoint is None else endpoint.route.path
        method = "-" if endpoint is None else endpoint.route.method
        observe = None if endpoint is None else endpoint.observe.get(status)
        if observe is None:
            shown = request.method if endpoint is None else method
            observe = self._metrics.request(path, shown, status)
            if endpoint is not None:
                endpoint.observe[status] = observe
        observe(took * 1e-9)
        if took < SLOW_NS:
            self._took(took << 3 | status // 100)
        elif endpoint is None or endpoint.route.media_type != "text/event-stream":
            self._activity.slow(path, method, status, took)
        if self._access_log is not None:
            self._access_log.add(request, path, status, took // 1000, nbytes)

    def sample(self) -> None:
        """Say how much is under way; ten times a second are enough."""
        self._metrics.in_flight.set(self.running)
        self._activity.settle()

    def expose(self, exposure: Exposure) -> None:
        """Keep a list of an experiment that another worker has shown."""
        if self.service is not None:
            self.service.expose(exposure)

    def end_streams(self) -> None:
        """End streams that would never end by themselves."""
        for task in list(self._streams):
            task.cancel()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
