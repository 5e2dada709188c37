"""Responses of starlette, which send themselves, as replies with a body."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel
from starlette.responses import Response

from xorec.core.errors import XorecError
from xorec.core.printable import did_you_mean, quoted
from xorec.core.progress import logger
from xorec.service.api.base import Answer
from xorec.service.config import Config
from xorec.service.http.access import ApiKeys, Origins
from xorec.service.http.endpoint import Endpoint, options_route, read_body, wrong_method
from xorec.service.http.exchange import Headers, Reply, Request, RequestIds
from xorec.service.http.problems import HttpError, Refusal, busy, problem_reply
from xorec.service.http.routes import Call, Route
from xorec.service.log.records import Exposure
from xorec.service.metrics import SLOW_NS

if TYPE_CHECKING:
    from xorec.service.http.protocol import RequestQueue
    from xorec.service.logs import AccessLog
    from xorec.service.metrics import Metrics
    from xorec.service.service import Service


def plain(response: Response) -> Reply:
    """A response whose body is there."""
    headers = tuple(
        pair for pair in response.raw_headers if pair[0] not in (b"content-length", b"content-type")
    )
    media_type = response.headers.get("content-type", "application/octet-stream")
    return Reply(response.status_code, bytes(response.body), media_type.encode("latin-1"), headers)


async def collected(response: Response) -> Reply:
    """A response that sends itself, taken together: for who cannot pass pieces on."""
    parts: list[bytes] = []

    async def send(message: Any) -> None:
        parts.append(message.get("body", b""))

    async def receive() -> Any:
        await asyncio.get_running_loop().create_future()

    await response({"type": "http", "method": "GET", "headers": []}, receive, send)
    response.body = b"".join(parts)
    return plain(response)


Forward = Callable[[Request, bytes], Awaitable[Reply]]
ON_ALL: Headers = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


State = Literal["starting", "ready", "stopping"]


@dataclass
class Health:
    """Where the service is in its life; the same object for all parts of a worker."""

    state: State = "starting"


class App:
    """Answers requests. service: what handlers work with, None until it is loaded.

    forward: hands a request that only the writer may answer on to it; None in the writer itself.
    """

    def __init__(
        self,
        config: Config,
        routes: Iterable[Route],
        health: Health,
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
        self._gate, self._origins, self._ids = (
            ApiKeys(config.keys),
            Origins(config),
            RequestIds(worker),
        )
        self._threads = ThreadPoolExecutor(config.threads, thread_name_prefix="handler")
        self.turned_away = Refusal(self.overloaded()).reply
        self._running = self._writing = 0
        self.queue: RequestQueue | None = None
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
        """Requests that are waiting for something now."""
        return self._running + self._writing

    @property
    def working(self) -> int:
        """Those of them that are not just waiting for the disk."""
        return self._running

    def is_full(self, endpoint: Endpoint) -> bool:
        """Whether one more of these would be too many; who waits for the disk is counted apart."""
        if not endpoint.route.limited:
            return False
        if endpoint.waits_for_disk and self._writing >= self.limits.writes:
            return True
        return self._running >= self.limits.concurrent

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """ASGI: read the body if there is to be one, answer, send."""
        if scope["type"] != "http":
            return
        client = scope["client"]
        request = Request(
            scope["method"],
            scope["path"],
            scope["query_string"],
            dict(scope["headers"]),
            client[0] if client else "",
        )
        endpoint: Endpoint | None = None
        try:
            endpoint = self.admit(request)
            body = b""
            if endpoint.takes_body:
                body = await read_body(receive, request.headers, self.limits)
            result = self.start(endpoint, request, body)
            if not isinstance(result, Reply):
                result = await self.finish(endpoint, request, result)
            if isinstance(result, Response):
                await self._send_response(endpoint, request, result, scope, receive, send)
                return
            reply = result
        except Exception as error:
            reply = self.refuse(request, error)
        await send(
            {
                "type": "http.response.start",
                "status": reply.status,
                "headers": self.headers(request, reply),
            }
        )
        await send({"type": "http.response.body", "body": reply.body})
        self.note(endpoint, request, reply.status, len(reply.body))

    async def reply(self, request: Request, body: bytes) -> Reply:
        """The whole reply to a request that came another way than by ASGI."""
        endpoint: Endpoint | None = None
        try:
            endpoint = self.admit(request)
            if len(body) > self.limits.body_bytes:
                raise HttpError(413, f"the body has {len(body):,} bytes: too many.")
            result = self.start(endpoint, request, body)
            if not isinstance(result, Reply):
                result = await self.finish(endpoint, request, result)
            reply = result if isinstance(result, Reply) else await collected(result)
        except Exception as error:
            reply = self.refuse(request, error)
        self.note(endpoint, request, reply.status, len(reply.body))
        return reply

    def find(self, method: str, path: str) -> Endpoint | None:
        """The endpoint of a method and a path, if there is one."""
        methods = self._table.get(path)
        return None if methods is None else methods.get(method)

    def admit(self, request: Request) -> Endpoint:
        """The endpoint of a request that may be answered; an HttpError for any other."""
        self.name(request)
        methods = self._table.get(request.path)
        if methods is None:
            raise self._nothing_at(request.path)
        endpoint = methods.get(request.method)
        if endpoint is None:
            raise wrong_method(request.method, request.path, methods)
        if self.is_full(endpoint):
            raise self.overloaded()
        self.check(endpoint, request)
        return endpoint

    def check(self, endpoint: Endpoint, request: Request) -> None:
        """Refuse who may not ask this, and everybody before the models are loaded."""
        self._origins.check(request.method, request.headers)
        self._gate.check(endpoint.rank, request.headers)
        if self.service is None and endpoint.route.limited:
            raise busy(f"the service is {self.health.state}: come again.")

    def is_eager(self, endpoint: Endpoint) -> bool:
        """Whether its coroutine may begin outside of a task: not one that hands the request on."""
        return self._forward is None or not endpoint.route.writer

    def overloaded(self) -> HttpError:
        """What is said above `limits.concurrent`."""
        return busy(f"{self.limits.concurrent} requests are under way already: come again.")

    def name(self, request: Request) -> None:
        """Give a request its id."""
        request.id = self._ids.of(request.headers.get(b"x-request-id"))

    def start(
        self, endpoint: Endpoint, request: Request, body: bytes
    ) -> Reply | Response | Awaitable[Any]:
        """Run the handler: a reply where it is done at once, else what is to be awaited."""
        route = endpoint.route
        if route.writer and self._forward is not None:
            return self._forward(request, body)
        call = endpoint.call(request, body)
        follows = None if self.service is None else self.service.follow()
        if follows is not None:
            return self._run_after(follows, endpoint, request, call)
        return self._run(endpoint, request, call)

    async def _run_after(
        self, follows: Awaitable[Any], endpoint: Endpoint, request: Request, call: Call
    ) -> Any:
        """First know what was acknowledged."""
        await follows
        result = self._run(endpoint, request, call)
        return await result if inspect.isawaitable(result) else result

    def _run(
        self, endpoint: Endpoint, request: Request, call: Call
    ) -> Reply | Response | Awaitable[Any]:
        service: Any = self.service
        if endpoint.route.thread:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._threads, endpoint.handler, service, call)
        result = endpoint.handler(service, call)
        if isinstance(result, BaseModel):
            return self.serialised(endpoint, request, result)
        return result

    async def finish(self, endpoint: Endpoint, request: Request, result: Any) -> Reply | Response:
        """Wait for a handler, as one of the requests that are under way."""
        if not isinstance(result, Response):
            writes = endpoint.waits_for_disk
            works = endpoint.route.limited and not writes
            self._running += works
            self._writing += writes
            try:
                result = await result
            finally:
                self._running -= works
                self._writing -= writes
        if isinstance(result, BaseModel):
            return self.serialised(endpoint, request, result)
        if isinstance(result, Reply) or type(result) is Response:
            return result if isinstance(result, Reply) else plain(result)
        return result  # type: ignore[no-any-return]

    def serialised(self, endpoint: Endpoint, request: Request, answer: BaseModel) -> Reply:
        """An answer as JSON, with what every answer says of itself."""
        if isinstance(answer, Answer):
            answer.request_id = request.id
            answer.took_us = (time.perf_counter_ns() - request.began) // 1000
        body = answer.__pydantic_serializer__.to_json(answer, by_alias=True)
        return Reply(endpoint.route.status, body)

    def refuse(self, request: Request, error: Exception) -> Reply:
        """The reply to an error; one that nobody expected goes to the log with its traceback."""
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

    def headers(self, request: Request, reply: Reply) -> list[tuple[bytes, bytes]]:
        """All headers of a reply."""
        every = [(b"x-request-id", request.id.encode()), *ON_ALL, *reply.headers]
        if self.health.state == "stopping":
            every.append((b"connection", b"close"))
        if reply.status == 204:
            return every
        length = (b"content-length", b"%d" % len(reply.body))
        return [(b"content-type", reply.media_type), length, *every]

    def note(self, endpoint: Endpoint | None, request: Request, status: int, nbytes: int) -> None:
        """Count the request, and write a line if there is an access log."""
        took = time.perf_counter_ns() - request.began
        if endpoint is None:
            self._metrics.request("unmatched", request.method, status)(took * 1e-9)
        else:
            observe = endpoint.observe.get(status)
            if observe is None:
                route = endpoint.route
                observe = self._metrics.request(route.path, route.method, status)
                endpoint.observe[status] = observe
            observe(took * 1e-9)
        if took < SLOW_NS:
            self._took(took << 3 | status // 100)
        else:
            self._note_slow(endpoint, status, took)
        if self._access_log is not None:
            path = "unmatched" if endpoint is None else endpoint.route.path
            self._access_log.add(request, path, status, took // 1000, nbytes)

    def _note_slow(self, endpoint: Endpoint | None, status: int, took: int) -> None:
        """A stream that somebody watched for an hour was not slow."""
        if endpoint is None:
            self._activity.slow("unmatched", "-", status, took)
        elif endpoint.route.media_type != "text/event-stream":
            self._activity.slow(endpoint.route.path, endpoint.route.method, status, took)

    def sample(self) -> None:
        """Say how much is under way; ten times a second are enough."""
        waiting = 0 if self.queue is None else len(self.queue)
        self._metrics.in_flight.set(self.running + waiting)
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
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _send_response(
        self,
        endpoint: Endpoint,
        request: Request,
        response: Response,
        scope: Any,
        receive: Any,
        send: Any,
    ) -> None:
        """A response that sends itself piece by piece."""
        nbytes = 0
        own = {name for name, _ in response.raw_headers}
        every = [(b"x-request-id", request.id.encode()), *ON_ALL]
        response.raw_headers += [pair for pair in every if pair[0] not in own]

        began = False

        async def counted(message: Any) -> None:
            nonlocal nbytes, began
            began = True
            nbytes += len(message.get("body", b""))
            await send(message)

        task = asyncio.current_task()
        endless = response.media_type == "text/event-stream"
        if endless and task is not None:
            self._streams.add(task)
        try:
            await response(scope, receive, counted)
        except asyncio.CancelledError:
            if not endless or self.health.state != "stopping":
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except Exception as error:
            if not began:
                raise
            self.refuse(request, error)  # too late to say so: a reply without its end is closed
        finally:
            if task is not None:
                self._streams.discard(task)
            self.note(endpoint, request, response.status_code, nbytes)

    def _nothing_at(self, path: str) -> HttpError:
        hint = did_you_mean(path[:200], self._table) or " /openapi.json lists what there is."
        return HttpError(404, f"there is nothing at {quoted(path)}.{hint}")
