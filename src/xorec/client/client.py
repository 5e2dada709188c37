"""Client: the service from plain Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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


def _asks(make: Callable[P, Request[A]]) -> Callable[Concatenate[Client, P], A]:
    """A method that sends what `make` makes, and gives the answer."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> A:
        return self._ask(make(*args, **kwargs))

    return method_of(method, make)


def _reads(make: Callable[P, StreamRequest[A]]) -> Callable[Concatenate[Client, P], Iterator[A]]:
    """A method that gives piece after piece of an answer."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[A]:
        return self._read(make(*args, **kwargs))

    return method_of(method, make)


class Client:
    """The service at `url`, asked from plain Python; threads may share it.

    url: or XOREC_URL of the environment, or http://127.0.0.1:8080. key: or XOREC_KEY. timeout:
    seconds for each try. retries: further tries after a broken connection or a status 502, 503 or
    504; events have an `event_id` before the first, so that the service takes each once.

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

    For whoever runs the service:

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection.of(url, key, timeout, retries)
        self._http = httpx.Client(**self._connection.settings(transport))

    def __repr__(self) -> str:
        return f"Client({self._connection.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

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

    def _ask(self, request: Request[A]) -> A:
        memory = self._connection.memory
        return read_answer(request, self._answer(request.knowing(memory.seq)), memory)

    def _read(self, wanted: StreamRequest[A]) -> Iterator[A]:
        response = self._answer(wanted.request, stream=True)
        lines, decode = Lines(), wanted.decode()
        try:
            for piece in response.iter_bytes():
                for line in lines.feed(piece):
                    yield from decode(line)
            for line in lines.rest():
                yield from decode(line)
        finally:
            response.close()

    def _answer(self, request: Request[Any], stream: bool = False) -> httpx.Response:
        steps = exchange(request, self._connection.retries, self._connection.url)
        step = next(steps)
        while True:
            outcome = self._do(step, stream)
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _do(self, step: Step, stream: bool) -> Outcome:
        if isinstance(step, float):
            time.sleep(step)
            return None
        try:
            request = self._http.build_request(**self._connection.arguments(step, stream))
            response = self._http.send(request, stream=stream)
            if stream and not response.is_success:
                response.read()
        except httpx.TransportError as error:
            return error
        return response
