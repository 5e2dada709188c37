"""One request with its tries, without doing anything: a generator that says what to do next.

Both clients run it, one by blocking and one by awaiting, so that there is one place where it
stands what is tried again, what an error is, and what is remembered.
"""

from __future__ import annotations

from collections.abc import Generator
from threading import Lock
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from xorec.client.errors import ClientError, UnreachableError, error_of
from xorec.client.request import Request
from xorec.client.retries import PASSING, REFUSED, Retries

A = TypeVar("A")
Step = Request[Any] | float
"""Send this; or wait for so many seconds."""
Outcome = httpx.Response | httpx.TransportError | None
"""What came of a step: an answer, none, or nothing to say after a wait."""


class Memory:
    """The highest place in the log that the service has told: the next answers must know it.

    >>> memory = Memory()
    >>> memory.learn(7), memory.learn(5), memory.seq
    (None, None, 7)
    """

    def __init__(self) -> None:
        self.seq = 0
        self._lock = Lock()

    def learn(self, seq: int) -> None:
        with self._lock:
            self.seq = max(self.seq, seq)


def exchange(
    request: Request[Any], retries: Retries, place: str
) -> Generator[Step, Outcome, httpx.Response]:
    """Says what to do, is told what came of it, and ends with the answer, or raises.

    An answer in a stream is read by the driver where its status is an error's. place: where the
    service is, for messages.
    """
    attempt = 0
    while True:
        outcome = yield request
        if isinstance(outcome, httpx.Response):
            if outcome.is_success or outcome.status_code in request.accepts:
                return outcome
            error = error_of(request.what, outcome.status_code, outcome.content)
            again, headers = _passes(request, outcome.status_code), dict(outcome.headers)
        else:
            assert isinstance(outcome, httpx.TransportError)
            error = UnreachableError(request.what, 0, _why(outcome, place))
            again, headers = request.repeatable or _never_sent(outcome), {}
        wait = retries.wait(attempt, headers) if again else None
        if wait is None:
            raise error
        attempt += 1
        yield wait


def read_answer(request: Request[A], response: httpx.Response, memory: Memory) -> A:
    """The answer, typed; what it says of the log is remembered."""
    try:
        answer = request.read(response.status_code, response.content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ClientError(
            request.what,
            response.status_code,
            f"the answer is not of this version of xorec: {where or 'body'}: {first['msg']}.",
        ) from None
    seq = getattr(answer, "seq", None)
    if isinstance(seq, int):
        memory.learn(seq)
    return answer


def _passes(request: Request[Any], status: int) -> bool:
    return status == REFUSED or (status in PASSING and request.repeatable)


def _never_sent(error: httpx.TransportError) -> bool:
    return isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))


def _why(error: httpx.TransportError, place: str) -> str:
    if isinstance(error, httpx.ConnectError):
        return f"nobody listens at {place}: start the service, or give its address."
    if isinstance(error, httpx.TimeoutException):
        return f"{place} took too long: give a larger timeout, or look at its load."
    return f"the connection to {place} broke: {error or type(error).__name__}."
