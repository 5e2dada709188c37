from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from typing import Any

import httpx
import pytest

from xorec.client import AsyncClient, Client, ClientError, UnreachableError
from xorec.client.exchange import Outcome, Retries, exchange
from xorec.client.operations import query
from xorec.client.request import Request
from xorec.core.errors import OptionError, XorecError
from xorec.testing.examples import shop
from xorec.testing.service import service_in_process

from .stand_in import Pieces, StandIn, answer, problem

FAST = Retries(first=0.0)
TAKEN = {"accepted": 1, "duplicates": 0, "durability": "disk"}


def client_of(service: StandIn, **more: Any) -> Client:
    return Client(transport=service.transport(), retries=FAST, **more)


def run(service: StandIn, ask: Any, **more: Any) -> Any:
    """The same by the async client."""

    async def main() -> Any:
        transport = service.transport()
        async with AsyncClient(transport=transport, retries=FAST, **more) as client:
            return await ask(client)

    return asyncio.run(main())


def test_a_retry_is_the_same_event() -> None:
    outcomes = (httpx.ReadError("broke"), problem(503, retry_after=0), answer(seq=7, **TAKEN))
    service = StandIn(*outcomes)
    assert client_of(service).send("ann", "tea").accepted == 1
    again = StandIn(*outcomes)
    assert run(again, lambda client: client.send("ann", "tea")).seq == 7
    for asked in (service.bodies, again.bodies):
        ids = {body["events"][0]["event_id"] for body in asked}
        assert (len(asked), len(ids)) == (3, 1)
    assert service.bodies[0] != again.bodies[0]


def test_lists_know_what_the_client_sent() -> None:
    lists, taken = answer(items=[], results=[]), (answer(seq=seq, **TAKEN) for seq in (7, 5))
    service = StandIn(lists, *taken, lists)
    client = client_of(service)
    client.recommend("ann")
    assert service.bodies == [{"user": "ann", "k": 10}]  # no place is known yet
    client.send("ann", "tea")
    client.send("ann", "milk")
    assert client.seq == 7
    client.recommend("ann")
    client.popular()
    client.recommend_batch([query("ann")])
    assert "seq" not in service.bodies[2]
    assert service.bodies[3]["seq"] == 7
    assert service.queries[4]["seq"] == "7"
    assert service.bodies[4]["queries"] == [{"seq": 7, "user": "ann", "k": 10}]


def test_answers_are_typed() -> None:
    items = [{"id": 7, "distance": 3, "score": 0.5}, {"id": "7"}]
    ref = {"name": "default", "generation": 3, "digest": "d"}
    service = StandIn(answer(user=1, items=items, model=ref, request_id="r", took_us=9))
    found = client_of(service).recommend(1)
    assert [item.id for item in found.items] == [7, "7"]
    assert found.items[0].distance == 3
    assert found.model is not None
    assert found.model.generation == 3


@pytest.mark.parametrize("status", [200, 503])
def test_health(status: int) -> None:
    told = answer() if status == 200 else problem(503, "kernels are warming up.")
    service = StandIn(told)
    health = client_of(service).health()
    assert (health.ready, health.detail) == (
        status == 200,
        "" if status == 200 else "kernels are warming up.",
    )
    assert len(service.asked) == 1


def test_errors_are_one_family() -> None:
    with pytest.raises(ClientError, match=r"^POST /v1/events: 400, item 3 is wrong\.$") as caught:
        client_of(StandIn(problem(400, "item 3 is wrong.", at=3, request_id="r"))).send(1, 2)
    assert isinstance(caught.value, XorecError)
    assert (caught.value.at, caught.value.request_id) == (3, "r")
    with pytest.raises(ClientError, match="<html>"):
        client_of(StandIn(httpx.Response(500, text="<html>"))).stats()
    with pytest.raises(ClientError, match="without a body"):
        client_of(StandIn(httpx.Response(500))).stats()
    with pytest.raises(ClientError, match="not of this version of xorec: items: Field required"):
        client_of(StandIn(answer(user=1))).recommend(1)


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Client(url, retries=1) as client, pytest.raises(UnreachableError, match="nobody"):
            client.stats()


def test_the_key_comes_from_the_argument_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XOREC_KEY", "from-outside")
    service = StandIn(answer(stats={}))
    client_of(service).stats()
    client_of(service, key="mine").stats()
    monkeypatch.delenv("XOREC_KEY")
    client_of(service).stats()
    keys = [request.headers.get("authorization") for request in service.asked]
    assert keys == ["Bearer from-outside", "Bearer mine", None]
    client = client_of(service, key="secret")
    assert "secret" not in repr(client)


def test_an_address_has_a_scheme() -> None:
    with pytest.raises(OptionError, match="url is 'localhost:8080'"):
        Client("localhost:8080")


LINES = [b'{"seq": 1, "item": "a\xe2', b'\x80\xa8b"}\n{', b'"seq": 2}\r\n', b'{"seq": 3}']
EVENTS = [b"event: stats\ndata: {", b'"a": 1}\n\n: ping\n\n', b"data: hello\n\ndata: half"]


def test_pieces_become_lines_and_events() -> None:
    export = Pieces(LINES)
    client = client_of(StandIn(httpx.Response(200, stream=export)))
    assert list(client.export()) == [{"seq": 1, "item": "a\u2028b"}, {"seq": 2}, {"seq": 3}]
    assert export.closed
    live = Pieces(EVENTS)
    client = client_of(StandIn(httpx.Response(200, stream=live)))
    assert [tuple(event) for event in client.live()] == [
        ("stats", {"a": 1}, None),
        ("message", "hello", None),
    ]


def test_pieces_for_the_async_client() -> None:
    async def read(client: AsyncClient) -> list[Any]:
        return [line async for line in client.export()]

    export = Pieces(LINES)
    found = run(StandIn(problem(503, retry_after=0), httpx.Response(200, stream=export)), read)
    assert [line["seq"] for line in found] == [1, 2, 3]
    assert export.closed


def test_a_stream_that_is_left_is_closed() -> None:
    live = Pieces(EVENTS)
    events = client_of(StandIn(httpx.Response(200, stream=live))).live()
    assert next(iter(events)).event == "stats"
    events.close()  # type: ignore[attr-defined]
    assert live.closed


def test_a_stream_that_is_refused_says_why() -> None:
    with pytest.raises(ClientError, match="403, an admin key"):
        list(client_of(StandIn(problem(403, "an admin key is needed."))).export())


def test_a_service_in_this_process_is_asked() -> None:
    async def main() -> list[int]:
        async with AsyncClient(app=app) as client:
            sent = await client.send("eve", "rum")
            return [sent.seq, *[line["seq"] async for line in client.export(after=1)]]

    with service_in_process(shop()) as app, Client(app=app) as client:
        assert client.send("eve", "tea").seq == 1
        assert "tea" not in [item.id for item in client.recommend("eve").items]
        assert asyncio.run(main()) == [2, 2]
        assert [event.item for event in client.events("eve").events] == ["rum", "tea"]
        assert client.health().ready
        with pytest.raises(ClientError, match="404, item 'rum' is not in the model"):
            client.similar("rum")


@pytest.mark.process
def test_importing_it_needs_neither_server_nor_kernels() -> None:
    heavy = {"numba", "polars", "scipy", "granian", "prometheus_client"}
    code = f"import sys, xorec.client; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


# -- tries of one request

URL = "http://127.0.0.1:1"
send, rollback = Client.send.request, Client.rollback.request


def play(request: Request[Any], outcomes: list[Outcome], retries: Retries) -> list[object]:
    """What the exchange asks for when this comes of what it sends; and how it ends."""
    steps, asked = exchange(request, retries, URL), []
    left = iter(outcomes)
    step = next(steps)
    while True:
        asked.append(step if isinstance(step, float) else "send")
        try:
            step = steps.send(None if isinstance(step, float) else next(left))
        except StopIteration as end:
            return [*asked, end.value.status_code]
        except ClientError as error:
            return [*asked, error]


@pytest.mark.parametrize(
    "passing",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError("broke"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("gone"),
        problem(502),
        problem(503),
        problem(504),
    ],
)
def test_what_passes_is_tried_again(passing: Outcome) -> None:
    done = play(send(1, 2), [passing, passing, answer()], Retries(first=0.2))
    send_1, first, send_2, second, send_3, status = done
    assert (send_1, send_2, send_3, status) == ("send", "send", "send", 200)
    assert 0.1 <= first <= 0.2 <= second <= 0.4  # type: ignore[operator]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 429, 500, 507])
def test_what_stays_is_not(status: int) -> None:
    sent, error = play(send(1, 2), [problem(status, "so.", at=3)], Retries())
    assert sent == "send"
    assert isinstance(error, ClientError)
    assert (error.status, error.detail, error.at) == (status, "so.", 3)


def test_retry_after_is_kept_to() -> None:
    busy = problem(503, retry_after=7)
    assert play(send(1, 2), [busy, answer()], Retries()) == ["send", 7.0, "send", 200]


def test_nobody_waits_for_an_hour() -> None:
    *asked, error = play(send(1, 2), [problem(503, retry_after=3600)], Retries())
    assert asked == ["send"]
    assert isinstance(error, ClientError)


def test_tries_end() -> None:
    broken = httpx.ReadError("broke")
    *asked, error = play(send(1, 2), [broken] * 9, Retries(count=2, first=0.0))
    assert asked == ["send", 0.0, "send", 0.0, "send"]
    assert isinstance(error, UnreachableError)
    assert error.status == 0
    assert str(error) == f"POST /v1/events: the connection to {URL} broke: broke."


@pytest.mark.parametrize("lost", [httpx.ReadError("broke"), httpx.ReadTimeout(""), problem(504)])
def test_what_may_have_been_done_is_not_done_twice(lost: Outcome) -> None:
    assert len(play(rollback(), [lost, answer()], Retries(first=0.0))) == 2
    assert play(Client.activate.request(3), [lost, answer()], Retries(first=0.0))[-1] == 200


@pytest.mark.parametrize("lost", [httpx.ConnectError("refused"), problem(503)])
def test_what_was_not_done_is_tried_again(lost: Outcome) -> None:
    assert play(rollback(), [lost, answer()], Retries(first=0.0))[-1] == 200
