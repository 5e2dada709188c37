"""AsyncClient: the service from asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from xorec.client import admin_requests, event_requests, item_requests, list_requests, map_requests
from xorec.client.connection import Connection
from xorec.client.exchange import Outcome, Step, exchange, read_answer
from xorec.client.methods import method_of
from xorec.client.request import Request, StreamRequest
from xorec.client.retries import Retries
from xorec.client.streams import Lines

P = ParamSpec("P")
A = TypeVar("A")


def _asks(
    make: Callable[P, Request[A]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, A]]:
    """A method that sends what `make` makes, and gives the answer."""

    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, A]:
        return self._ask(make(*args, **kwargs))

    return method_of(method, make)


def _reads(
    make: Callable[P, StreamRequest[A]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[A]]:
    """A method that gives piece after piece of an answer."""

    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[A]:
        return self._read(make(*args, **kwargs))

    return method_of(method, make)


class AsyncClient:
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection.of(url, key, timeout, retries)
        self._http = httpx.AsyncClient(**self._connection.settings(transport))

    def __repr__(self) -> str:
        return f"AsyncClient({self._connection.url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @property
    def seq(self) -> int:
        """The highest place in the log that the service has told."""
        return self._connection.memory.seq

    @seq.setter
    def seq(self, seq: int) -> None:
        self._connection.memory.seq = seq

    recommend = _asks(list_requests.recommend)
    recommend_batch = _asks(list_requests.recommend_batch)
    next = _asks(list_requests.next_items)
    similar = _asks(list_requests.similar)
    similar_users = _asks(list_requests.similar_users)
    explain = _asks(list_requests.explain)
    popular = _asks(list_requests.popular)
    latest = _asks(list_requests.latest)
    trending = _asks(list_requests.trending)

    send = _asks(event_requests.send)
    send_events = _asks(event_requests.send_events)
    events = _asks(event_requests.events)
    erase = _asks(event_requests.erase)

    put_items = _asks(item_requests.put_items)
    patch_item = _asks(item_requests.patch_item)
    delete_item = _asks(item_requests.delete_item)
    item = _asks(item_requests.item)
    items = _asks(item_requests.items)
    users = _asks(item_requests.users)
    categories = _asks(item_requests.categories)
    codes = _asks(item_requests.codes)

    models = _asks(admin_requests.models)
    activate = _asks(admin_requests.activate)
    rollback = _asks(admin_requests.rollback)
    refit = _asks(admin_requests.refit)
    tasks = _asks(admin_requests.tasks)
    put_experiment = _asks(admin_requests.put_experiment)
    experiments = _asks(admin_requests.experiments)
    make_snapshot = _asks(admin_requests.make_snapshot)
    snapshots = _asks(admin_requests.snapshots)
    stats = _asks(admin_requests.stats)
    map = _asks(map_requests.item_map)
    map_colours = _asks(map_requests.colours)
    map_items = _asks(map_requests.map_items)
    compare = _asks(admin_requests.compare)
    histogram = _asks(admin_requests.histogram)
    health = _asks(admin_requests.health)
    export = _reads(admin_requests.export)
    live = _reads(admin_requests.live)

    async def _ask(self, request: Request[A]) -> A:
        memory = self._connection.memory
        return read_answer(request, await self._answer(request.knowing(memory.seq)), memory)

    async def _read(self, wanted: StreamRequest[A]) -> AsyncIterator[A]:
        response = await self._answer(wanted.request, stream=True)
        lines, decode = Lines(), wanted.decode()
        try:
            async for piece in response.aiter_bytes():
                for line in lines.feed(piece):
                    for one in decode(line):
                        yield one
            for line in lines.rest():
                for one in decode(line):
                    yield one
        finally:
            await response.aclose()

    async def _answer(self, request: Request[Any], stream: bool = False) -> httpx.Response:
        steps = exchange(request, self._connection.retries, self._connection.url)
        step = next(steps)
        while True:
            outcome = await self._do(step, stream)
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    async def _do(self, step: Step, stream: bool) -> Outcome:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return None
        try:
            request = self._http.build_request(**self._connection.arguments(step, stream))
            response = await self._http.send(request, stream=stream)
            if stream and not response.is_success:
                await response.aread()
        except httpx.TransportError as error:
            return error
        return response
