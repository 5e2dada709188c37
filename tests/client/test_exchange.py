from __future__ import annotations

from typing import Any

import httpx
import pytest

from xorec.client import Client, ClientError, UnreachableError
from xorec.client.exchange import Outcome, Retries, exchange
from xorec.client.request import Request

from .stand_in import answer, problem

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
