"""A service for tests that answers what it is told to, and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import httpx

Told = httpx.Response | Exception


class StandIn:
    """Answers one by one, as told; the last one for ever. An exception is raised in its place."""

    def __init__(self, *answers: Told) -> None:
        self._answers = list(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        told = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(told, Exception):
            raise told
        return httpx.Response(told.status_code, headers=told.headers, stream=told.stream)

    @property
    def bodies(self) -> list[Any]:
        """What came as JSON."""
        return [json.loads(request.content) for request in self.asked if request.content]

    @property
    def queries(self) -> list[dict[str, str]]:
        return [dict(request.url.params) for request in self.asked]

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)


def answer(**body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


def problem(status: int, detail: str = "no.", **more: Any) -> httpx.Response:
    headers = {
        name.replace("_", "-"): str(more.pop(name)) for name in ("retry_after",) if name in more
    }
    body = {"title": "Problem", "status": status, "detail": detail, **more}
    return httpx.Response(status, json=body, headers=headers)


class Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in pieces, which knows whether it was closed."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = list(pieces)
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces

    async def __aiter__(self) -> Any:
        for piece in self._pieces:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True
