"""Client and AsyncClient: the operations of the service, blocking or awaited."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any, Self, TypeVar

import httpx

from xorec.client.exchange import Outcome, Retries, SeenSeq, Step, exchange, read_answer
from xorec.client.operations import Operations
from xorec.client.request import Request, decoder
from xorec.core.errors import OptionError

A = TypeVar("A")
URL = "http://127.0.0.1:8080"


class _Connection(Operations):
    """What both clients have in common: the address, the key, and what is remembered."""

    def __init__(
        self, url: str | None, key: str | None, timeout: float, retries: int | Retries
    ) -> None:
        self._url = (url or os.environ.get("XOREC_URL") or URL).rstrip("/")
        if not self._url.startswith(("http://", "https://")):
            raise OptionError(f"url is {self._url!r}: give an address such as {URL}.")
        headers = {"accept": "application/json, application/problem+json, */*"}
        key = key or os.environ.get("XOREC_KEY")
        if key:
            headers["authorization"] = f"Bearer {key}"
        self._timeout, self._memory = timeout, SeenSeq()
        self._settings: Any = {"base_url": self._url, "headers": headers, "timeout": timeout}
        self._retries = Retries(count=retries) if isinstance(retries, int) else retries

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    @property
    def seq(self) -> int:
        """The highest position in the log that the service has told."""
        return self._memory.seq

    @seq.setter
    def seq(self, seq: int) -> None:
        self._memory.seq = seq

    def _arguments(self, request: Request[Any], stream: bool) -> dict[str, Any]:
        """Of `build_request`. A stream may be silent for any time."""
        return {
            "method": request.method,
            "url": request.path,
            "params": list(request.params),
            "content": request.content,
            "headers": {} if request.body is None else {"content-type": "application/json"},
            "timeout": httpx.Timeout(self._timeout, read=None) if stream else self._timeout,
        }


class Client(_Connection):
    """The service at `url`, asked from plain Python; threads may share it.

    url: or XOREC_URL of the environment, or http://127.0.0.1:8080. key: or XOREC_KEY. timeout:
    seconds for each try. retries: further tries after a broken connection or a status 502, 503 or
    504; events have an `event_id` before the first, so that the service takes each once. app: an
    ASGI application in this process, asked instead of `url` without sockets; every answer comes
    whole, so `live` is not for it. transport: of httpx, instead.

    The client remembers the highest `seq` that it was told, and its lists know everything up to
    there, whichever worker answers: `client.seq`.

    >>> def service(request):
    ...     return httpx.Response(200, json={"user": "cem", "items": [{"id": "milk"}]})
    >>> with Client(transport=httpx.MockTransport(service)) as client:
    ...     [item.id for item in client.recommend("cem", k=1).items]
    ['milk']

    A problem is a `ClientError` with the service's own line:

    >>> def refusing(request):
    ...     body = {"title": "Not Found", "status": 404, "detail": "there is no item 'rum'."}
    ...     return httpx.Response(404, json=body)
    >>> Client(transport=httpx.MockTransport(refusing)).similar("rum")
    Traceback (most recent call last):
    xorec.client.errors.ClientError: GET /v1/similar: 404, there is no item 'rum'.

    Lists:

    >>> from xorec.testing.answers import example_client
    >>> client = example_client()
    >>> best = client.recommend("cem", k=1, deny=["rice"])
    >>> best.items[0].id, client.next(best.request_id).items[0].id
    ('milk', 'rice')
    >>> client.recommend_batch([{"user": "cem"}, {"items": ["tea"]}]).results[0].status
    200
    >>> client.similar("tea", k=1).items[0].id, client.similar_users("cem").users[0].id
    ('milk', 'ann')
    >>> client.explain("milk", "cem").explanation["because"]
    [{'id': 'tea'}]
    >>> ranked = client.popular(1), client.latest(1), client.trending("7d", 1)
    >>> [one.items[0].id for one in ranked]
    ['tea', 'rice', 'milk']

    Events, and what they change:

    >>> client.send("cem", "milk", request_id=best.request_id).accepted, client.seq
    (1, 8)
    >>> client.send_events([{"user": "cem", "item": "rice", "kind": "buy"}]).durability
    'disk'
    >>> client.events("cem", k=5).events[0].item, client.erase("cem").events
    ('milk', 1)
    >>> [event["item"] for event in client.export(after=7)]
    ['milk']

    Items, users and codes:

    >>> client.put_items({"id": "tea", "name": "Green tea", "categories": ["drinks"]}).changed
    1
    >>> client.patch_item("tea", hidden=True).changed, client.delete_item("jam").changed
    (1, 1)
    >>> client.item("tea").items[0].name, client.items("green").items[0].id
    ('Green tea', 'tea')
    >>> client.users(user="ann").users[0].history, client.categories().categories[0].count
    (['milk', 'tea'], 2)
    >>> client.codes("cem", of=["milk"]).user, client.histogram("cem").counts
    ('2f', [0, 1, 2])
    >>> client.map(1000).x, client.map_colours("popularity").colours
    ([19717, -31900], 'AgI=')
    >>> client.map_items([0]).items[0].id
    'milk'

    For operators:

    >>> client.health().ready, client.stats().stats
    (True, {'events': 8})
    >>> next(client.live(seconds=0.5)).data
    {'events': 8}
    >>> client.models().models[0].generation, client.rollback().generation
    (2, 1)
    >>> client.activate(2).generation, client.compare("default", "b").overlap
    (2, 0.5)
    >>> client.refit(kind="update").task.id, client.tasks("t1").tasks[0].state
    ('t1', 'running')
    >>> client.put_experiment("ab", {"default": 0.5, "b": 0.5}).experiment.active
    True
    >>> client.experiments("ab").experiments[0].arms[1].model
    'b'
    >>> client.make_snapshot().snapshot.path, client.snapshots().snapshots[0].id
    ('s1.tar', 's1')
    >>> client.close()
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int | Retries = 4,
        app: Any = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        transport = transport if app is None else _AppTransport(app)
        self._http = httpx.Client(transport=transport, **self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, request: Request[A]) -> A:
        response = self._answer(request.knowing(self.seq))
        return read_answer(request, response, self._memory)

    def _read(self, request: Request[None]) -> Iterator[Any]:
        assert request.decode is not None
        response = self._answer(request, stream=True)
        feed = decoder(request.decode())
        try:
            for piece in response.iter_bytes():
                yield from feed(piece)
            yield from feed(b"")
        finally:
            response.close()

    def _answer(self, request: Request[Any], stream: bool = False) -> httpx.Response:
        steps = exchange(request, self._retries, self._url)
        outcome: Outcome = None
        try:
            while True:
                outcome = self._do(steps.send(outcome), stream)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _do(self, step: Step, stream: bool) -> Outcome:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            request = self._http.build_request(**self._arguments(step, stream))
            response = self._http.send(request, stream=stream)
            if stream and not response.is_success:
                response.read()
        except httpx.TransportError as error:
            return error
        return response


class AsyncClient(_Connection):
    """`Client`, to be awaited: the same methods, settings and errors. `Client` shows each method.

    >>> def service(request):
    ...     return httpx.Response(200, json={"user": "cem", "items": [{"id": "milk"}]})
    >>> async def main():
    ...     async with AsyncClient(transport=httpx.MockTransport(service)) as client:
    ...         return [item.id for item in (await client.recommend("cem", k=1)).items]
    >>> asyncio.run(main())
    ['milk']
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int | Retries = 4,
        app: Any = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, key, timeout, retries)
        transport = transport if app is None else httpx.ASGITransport(app)
        self._http = httpx.AsyncClient(transport=transport, **self._settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, request: Request[A]) -> A:
        response = await self._answer(request.knowing(self.seq))
        return read_answer(request, response, self._memory)

    async def _read(self, request: Request[None]) -> AsyncIterator[Any]:
        assert request.decode is not None
        response = await self._answer(request, stream=True)
        feed = decoder(request.decode())
        try:
            async for piece in response.aiter_bytes():
                for one in feed(piece):
                    yield one
            for one in feed(b""):
                yield one
        finally:
            await response.aclose()

    async def _answer(self, request: Request[Any], stream: bool = False) -> httpx.Response:
        steps = exchange(request, self._retries, self._url)
        outcome: Outcome = None
        try:
            while True:
                outcome = await self._do(steps.send(outcome), stream)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _do(self, step: Step, stream: bool) -> Outcome:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        try:
            request = self._http.build_request(**self._arguments(step, stream))
            response = await self._http.send(request, stream=stream)
            if stream and not response.is_success:
                await response.aread()
        except httpx.TransportError as error:
            return error
        return response


class _AppTransport(httpx.BaseTransport):
    """Asks an ASGI application, which runs in an event loop in a thread of its own."""

    def __init__(self, app: Any) -> None:
        self._asgi, self._loop = httpx.ASGITransport(app), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="in process", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with closing(self._loop):
            self._loop.run_forever()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._asgi.handle_async_request(request)
        body = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=body)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
