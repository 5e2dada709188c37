"""One request with its tries, as a generator that says what to do next and does nothing itself.

Both clients run it, one blocks and one awaits: retries, errors and what is remembered stand here.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from xorec.client.errors import ClientError, UnreachableError, error_of
from xorec.client.request import Request

A = TypeVar("A")
Step = Request[Any] | float
"""Send this; or wait for so many seconds."""
Outcome = httpx.Response | httpx.TransportError | None
"""The result of a step: an answer, no answer, or None after a wait."""
REFUSED = 503
"""The service did nothing: any request may be sent again."""
PASSING = (502, 503, 504)
"""Statuses that pass: a request that does no harm twice is sent again."""
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Retries:
    """count: further tries. The wait doubles from `first` to `most` seconds and is cut by up to a
    half at random, so that clients do not come back together; the service's Retry-After counts
    instead, up to `patience` seconds.

    >>> Retries(first=0.1).wait(0, {"retry-after": "3"})
    3.0
    >>> 0.4 <= Retries(first=0.1).wait(3, {}) <= 0.8
    True
    """

    count: int = 4
    first: float = 0.1
    most: float = 5.0
    patience: float = 30.0

    def wait(self, attempt: int, headers: Mapping[str, str]) -> float | None:
        """Seconds before the next try; None where there is none. attempt: tries before this."""
        if attempt >= self.count:
            return None
        told = retry_after(headers.get("retry-after", ""))
        if told is not None:
            return told if told <= self.patience else None
        return min(self.most, self.first * 2.0**attempt) * random.uniform(0.5, 1.0)


def retry_after(value: str, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or a date.

    >>> retry_after("2"), retry_after("soon")
    (2.0, None)
    >>> noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    >>> retry_after("Mon, 16 Nov 2026 12:00:05 GMT", noon)
    5.0
    """
    with suppress(ValueError):
        return max(0.0, float(value))
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


class SeenSeq:
    """The highest position in the log that the service has told: the next answers must know it.

    >>> memory = SeenSeq()
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
    request: Request[Any], retries: Retries, url: str
) -> Generator[Step, Outcome, httpx.Response]:
    """Yields a step, is sent its outcome, and returns the answer or raises.

    The caller reads the body of a streamed answer if its status is an error. url: for messages.
    """
    attempt = 0
    while True:
        outcome = yield request
        if isinstance(outcome, httpx.Response):
            if outcome.is_success or outcome.status_code in request.accepts:
                return outcome
            status, headers = outcome.status_code, dict(outcome.headers)
            error = error_of(request.what, status, outcome.content)
            again = status == REFUSED or (status in PASSING and request.repeatable)
        else:
            assert isinstance(outcome, httpx.TransportError)
            error = UnreachableError(request.what, 0, _why(outcome, url))
            again, headers = request.repeatable or isinstance(outcome, NEVER_SENT), {}
        wait = retries.wait(attempt, headers) if again else None
        if wait is None:
            raise error
        attempt += 1
        yield wait


def read_answer(request: Request[A], response: httpx.Response, memory: SeenSeq) -> A:
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


def _why(error: httpx.TransportError, url: str) -> str:
    if isinstance(error, httpx.ConnectError):
        return f"nobody listens at {url}: start the service, or give its address."
    if isinstance(error, httpx.TimeoutException):
        return f"{url} took too long: give a larger timeout, or look at its load."
    return f"the connection to {url} broke: {error or type(error).__name__}."
