"""The app behind a real socket: what it refuses and how it says so."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.service_process import listening_app
from tests.support.waiting import PATIENCE
from xorec.core.errors import DataError, UnknownIdError
from xorec.service.api.base import Answer
from xorec.service.api.events import EventBody, EventsBody
from xorec.service.api.list_request import RecommendBody, RecommendQuery
from xorec.service.config import Config
from xorec.service.http.exchange import Stream
from xorec.service.http.problems import HttpError, busy, problem_reply
from xorec.service.http.routes import Routes
from xorec.service.log.base import StorageFailed, StorageFull

READ, WRITE, ADMIN = "read-read-read-1", "write-write-write", "admin-admin-admin"


class Echo(Answer):
    """What a handler got."""

    user: Any = None
    k: int = 0
    deny: list[Any] = []  # noqa: RUF012
    lines: int | None = None


ROUTES = Routes()


@ROUTES("GET", "/v1/echo")
@ROUTES("GET", "/v1/thread", thread=True)
@ROUTES("DELETE", "/v1/echo", role="admin")
def echo(service: Any, query: RecommendQuery) -> Echo:
    return Echo(user=query.user, k=query.k, deny=list(query.deny))


@ROUTES("POST", "/v1/echo")
def echo_body(service: Any, body: RecommendBody) -> Echo:
    return Echo(user=body.user, k=body.k, deny=body.deny)


@ROUTES("GET", "/v1/wait")
async def waits(service: Any, query: RecommendQuery) -> Echo:
    await asyncio.sleep(query.k / 1000)
    return Echo(k=query.k)


@ROUTES("POST", "/v1/events", role="write")
def events(service: Any, body: EventBody | EventsBody | bytes) -> Echo:
    if isinstance(body, bytes):
        return Echo(lines=len(body.splitlines()))
    return Echo(user=type(body).__name__)


@ROUTES("GET", "/v1/fails")
@ROUTES("GET", "/v1/fails-in-thread", thread=True)
def fails(service: Any, query: RecommendQuery) -> Echo:
    kind = query.user
    errors: dict[str, Exception] = {
        "data": DataError("the data is\nbad: mend it."),
        "unknown": UnknownIdError("no user 7."),
        "conflict": HttpError(409, "taken.", at=3),
    }
    raise errors.get(str(kind)) or RuntimeError("secret-of-the-house")


@ROUTES("GET", "/v1/fails-later")
async def fails_later(service: Any, query: RecommendQuery) -> Echo:
    await asyncio.sleep(0.001)
    return fails(service, query)


@ROUTES("GET", "/v1/stream")
def stream(service: Any) -> Stream:
    async def lines() -> AsyncIterator[bytes]:
        for n in range(3):
            yield f"{n}\n".encode()

    return Stream(lines(), "application/x-ndjson", 6)


@ROUTES("GET", "/v1/broken-stream")
def broken_stream(service: Any) -> Stream:
    async def lines() -> AsyncIterator[bytes]:
        yield b"0\n"
        raise RuntimeError("secret-of-the-house")

    return Stream(lines(), "application/x-ndjson", 6)


def _client_of(address: str) -> httpx.Client:
    return httpx.Client(base_url=address, timeout=PATIENCE)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with listening_app(ROUTES) as (address, _, _), _client_of(address) as client:
        yield client


def problem(response: httpx.Response, status: int) -> str:
    """The one line of a problem."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["request_id"] == response.headers["x-request-id"]
    assert body["title"]
    assert "\n" not in body["detail"]
    assert "Traceback" not in response.text
    return str(body["detail"])


def test_a_query_string_fills_the_model(client: httpx.Client) -> None:
    began = time.perf_counter_ns()
    response = client.get("/v1/echo?user=a%2Fb+c%F0%9F%98%80&k=5&deny=1&deny=2&")
    took_us = (time.perf_counter_ns() - began) // 1000
    body = response.json()
    assert (body["user"], body["k"], body["deny"]) == ("a/b c\U0001f600", 5, ["1", "2"])
    assert body["request_id"] == response.headers["x-request-id"]
    assert 0 <= body["took_us"] <= took_us
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_body_keeps_the_type_of_an_id(client: httpx.Client) -> None:
    for user in (7, "7", 2**60, "\x00/\u202e"):
        assert client.post("/v1/echo", json={"user": user}).json()["user"] == user


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("kk=1", "the query has a name 'kk' that it should not have. Did you mean 'k'?"),
        ("k=ten", "k is 'ten': give a valid integer, unable to parse string as an integer."),
        ("k=0", "k is '0': give greater than or equal to 1."),
        ("k=1000000000", "k is 1000000000: 1,000 at most (limits.k)."),
        ("user=1&user=2", "'user' stands twice in the query: give one."),
        ("seen=maybe", "seen is 'maybe'"),
    ],
)
def test_a_wrong_query_is_one_line(client: httpx.Client, query: str, line: str) -> None:
    assert line in problem(client.get(f"/v1/echo?{query}"), 422)


def test_a_query_that_is_no_text_is_400(client: httpx.Client) -> None:
    assert "no UTF-8" in problem(client.get("/v1/echo?user=%ff"), 400)


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        (b"{", 400, "the body is no JSON"),
        (b'{"k": "10"}', 422, "k is '10': give a valid integer."),
        (b'{"k": 1001}', 422, "k is 1001: 1,000 at most"),
        (b'{"user": [1]}', 422, "user is [1]: give a valid integer or a valid string"),
        (b'{"model": "a", "name": "b"}', 422, "'name' that it should not have"),
        (b'{"deny": [1, {"a": 2}]}', 422, "deny.1 is {'a': 2}"),
        (b"[1]", 422, "the body is [1]"),
        (b"[" * 100_000, 400, "the body is no JSON"),
        (b'{"user": "\\ud800"}', 400, "the body is no JSON"),
    ],
)
def test_a_wrong_body_is_one_line(
    client: httpx.Client, body: bytes, status: int, line: str
) -> None:
    headers = {"content-type": "application/json"}
    assert line in problem(client.post("/v1/echo", content=body, headers=headers), status)


def test_a_value_in_a_line_is_cut_and_safe_to_show(client: httpx.Client) -> None:
    line = problem(client.get("/v1/echo", params={"k": "\x1b[31m" + "x" * 10_000}), 422)
    assert "\x1b" not in line
    assert len(line) < 600


def test_the_model_that_fits_best_is_spoken_of(client: httpx.Client) -> None:
    one = client.post("/v1/events", json={"user": 1, "item": 2})
    several = client.post("/v1/events", json={"events": [{"user": 1, "item": 2}]})
    assert (one.json()["user"], several.json()["user"]) == ("EventBody", "EventsBody")
    assert problem(client.post("/v1/events", json={"events": []}), 422).startswith("events is []")
    assert "'item' is missing" in problem(client.post("/v1/events", json={"user": 1}), 422)


def test_lines_of_json_where_the_route_takes_them(client: httpx.Client) -> None:
    headers = {"content-type": "application/x-ndjson"}
    response = client.post("/v1/events", content=b"{}\n{}\n", headers=headers)
    assert response.json()["lines"] == 2
    assert "application/json" in problem(client.post("/v1/echo", content=b"", headers=headers), 415)


def test_another_type_of_body_is_refused(client: httpx.Client) -> None:
    line = problem(client.post("/v1/echo", data={"user": "1"}), 415)
    assert "application/x-www-form-urlencoded" in line


def test_unknown_paths_and_methods(client: httpx.Client) -> None:
    assert "Did you mean '/v1/echo'?" in problem(client.get("/v1/ecko"), 404)
    assert "/openapi.json" in problem(client.get("/zzz%1b"), 404)
    response = client.put("/v1/echo")
    assert "takes no PUT" in problem(response, 405)
    assert response.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, POST"
    options = client.options("/v1/echo")
    assert (options.status_code, options.content) == (204, b"")
    assert options.headers["allow"] == response.headers["allow"]
    assert "access-control-allow-origin" not in options.headers


def test_head_is_get_without_a_body(client: httpx.Client) -> None:
    head, get = client.head("/v1/echo?user=1"), client.get("/v1/echo?user=1")
    assert (head.status_code, head.content) == (200, b"")
    assert abs(int(head.headers["content-length"]) - len(get.content)) < 10
    assert client.get("/v1/echo").status_code == 200  # the connection is in step


@pytest.mark.parametrize("given", ["order-7", "!~" * 64])
def test_a_sane_request_id_comes_back(client: httpx.Client, given: str) -> None:
    response = client.get("/v1/echo", headers={"x-request-id": given})
    assert response.headers["x-request-id"] == response.json()["request_id"] == given


@pytest.mark.parametrize("given", [b"", b"two words", b"x" * 129, b"\xfc", b"\xc3\xbc"])
def test_another_is_replaced(client: httpx.Client, given: bytes) -> None:
    response = client.get("/v1/echo", headers={b"x-request-id": given})
    assert response.headers["x-request-id"].startswith("w0-")


def test_new_request_ids_are_new(client: httpx.Client) -> None:
    assert len({client.get("/v1/echo").json()["request_id"] for _ in range(50)}) == 50


@pytest.mark.parametrize("path", ["/v1/fails", "/v1/fails-in-thread", "/v1/fails-later"])
@pytest.mark.parametrize(
    ("kind", "status", "line"),
    [
        ("data", 422, "the data is bad: mend it."),
        ("unknown", 404, "no user 7."),
        ("conflict", 409, "taken."),
        ("other", 500, "the service failed: its log has more under this request_id."),
    ],
)
def test_errors_have_their_status(
    client: httpx.Client,
    caplog: pytest.LogCaptureFixture,
    path: str,
    kind: str,
    status: int,
    line: str,
) -> None:
    with caplog.at_level(logging.ERROR, "xorec"):
        response = client.get(path, params={"user": kind})
    assert problem(response, status) == line
    assert "secret-of-the-house" not in response.text
    assert ("secret-of-the-house" in caplog.text) == (status == 500)
    assert (response.headers["x-request-id"] in caplog.text) == (status == 500)
    assert response.json()["at"] == (3 if kind == "conflict" else None)


def test_handlers_that_wait_and_handlers_in_threads(client: httpx.Client) -> None:
    assert client.get("/v1/wait?k=20").json()["k"] == 20
    assert client.get("/v1/thread?k=7").json()["k"] == 7


def test_a_stream_comes_whole_with_its_request_id(client: httpx.Client) -> None:
    response = client.get("/v1/stream", headers={"x-request-id": "mine"})
    assert response.text == "0\n1\n2\n"
    assert response.headers["x-request-id"] == "mine"
    assert response.headers["content-type"] == "application/x-ndjson"


def test_a_stream_that_breaks_off_is_not_taken_for_whole(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "xorec"), pytest.raises(httpx.RemoteProtocolError):
        client.get("/v1/broken-stream")
    assert "GET /v1/broken-stream failed" in caplog.text
    assert client.get("/v1/stream").text == "0\n1\n2\n"


def test_a_web_page_of_somebody_else_is_refused(client: httpx.Client) -> None:
    foreign = {"origin": "https://evil.example"}
    assert "may not change" in problem(client.post("/v1/echo", json={}, headers=foreign), 403)
    assert client.get("/v1/echo", headers=foreign).status_code == 200
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post("/v1/echo", json={}, headers=own).status_code == 200
    rebound = {"host": "evil.example:8080"}
    assert "'evil.example' is no name" in problem(client.get("/v1/echo", headers=rebound), 421)
    for host in ("localhost:80:evil", "[::1]evil", "127.0.0.1:x", "localhost.", "[localhost]"):
        problem(client.get("/v1/echo", headers={"host": host}), 421)
    for host in ("localhost:1", "LOCALHOST", "[::1]:8080", "127.0.0.1"):
        assert client.get("/v1/echo", headers={"host": host}).status_code == 200


def test_health_and_version(client: httpx.Client) -> None:
    assert client.get("/livez").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}
    assert client.get("/version").json()["version"]


def test_requests_are_counted_by_route_and_status(client: httpx.Client) -> None:
    def count(status: str, route: str) -> float:
        wanted = f'method="GET",route="{route}",status="{status}"'
        return sum(
            float(line.split()[-1])
            for line in client.get("/metrics").text.splitlines()
            if line.startswith("xorec_request_seconds_count") and wanted in line
        )

    before = count("200", "/v1/wait"), count("422", "/v1/wait"), count("404", "unmatched")
    client.get("/v1/wait?k=1")
    client.get("/v1/wait?k=0")
    client.get("/v1/wait?k=0")
    client.get("/nothing-here")
    after = count("200", "/v1/wait"), count("422", "/v1/wait"), count("404", "unmatched")
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 2, 1]


@pytest.fixture(scope="module")
def locked() -> Iterator[httpx.Client]:
    keys = {"admin": ADMIN, "write": WRITE, "read": [f"{READ}-old", READ]}
    with (
        listening_app(ROUTES, Config.model_validate({"keys": keys})) as (address, _, _),
        _client_of(address) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("key", "statuses"),
    [
        (None, (401, 401, 401)),
        ("x", (401, 401, 401)),
        ("wrong", (401, 401, 401)),
        (READ[:-1], (401, 401, 401)),
        (READ, (200, 403, 403)),
        (f"{READ}-old", (200, 403, 403)),
        (WRITE, (200, 200, 403)),
        (ADMIN, (200, 200, 200)),
    ],
)
@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
def test_keys_open_what_their_role_may_do(
    locked: httpx.Client, key: str | None, statuses: tuple[int, ...], header: str
) -> None:
    value = f"Bearer {key}" if header == "authorization" else key
    headers = {} if key is None else {header: value or ""}
    event = {"user": 1, "item": 2}
    answers = (
        locked.get("/v1/echo", headers=headers),
        locked.post("/v1/events", json=event, headers=headers),
        locked.delete("/v1/echo", headers=headers),
    )
    assert tuple(one.status_code for one in answers) == statuses
    for one in answers:
        assert ("www-authenticate" in one.headers) == (one.status_code == 401)
        if key:
            assert key not in one.text


def test_health_needs_no_key_and_figures_do(locked: httpx.Client) -> None:
    assert locked.get("/livez").status_code == locked.get("/readyz").status_code == 200
    assert locked.get("/metrics").status_code == 401
    assert locked.get("/metrics", headers={"x-api-key": READ}).status_code == 200


def test_where_keys_are_the_name_of_the_host_does_not_matter(locked: httpx.Client) -> None:
    headers = {"x-api-key": READ, "host": "shop.example"}
    assert locked.get("/v1/echo", headers=headers).status_code == 200


def test_before_it_is_loaded_only_health_is_answered() -> None:
    with listening_app(ROUTES) as (address, _, app), _client_of(address) as client:
        service, app.service, app.health.state = app.service, None, "starting"
        for path in ("/v1/echo", "/v1/stream", "/readyz"):
            response = client.get(path)
            assert "the service is starting" in problem(response, 503)
            assert response.headers["retry-after"] == "1"
        assert client.get("/livez").status_code == 200
        app.service, app.health.state = service, "ready"
        assert client.get("/readyz").status_code == 200
        assert json.loads(client.get("/v1/echo").text)["k"] == 10


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [
        (StorageFailed("the log cannot be written."), 503, True),
        (busy("come again."), 503, True),
        (StorageFull("the disk is full."), 507, False),
        (HttpError(409, "taken."), 409, False),
        (UnknownIdError("no user 7."), 404, False),
        (DataError("mend it."), 422, False),
        (OSError(Path("/a/secret")), 500, False),
    ],
)
def test_who_may_come_again_is_told_when(error: Exception, status: int, again: bool) -> None:
    reply = problem_reply(error, "r1")
    assert reply.status == status
    assert dict(reply.headers) == ({"retry-after": "1"} if again else {})
    assert b"secret" not in reply.body
