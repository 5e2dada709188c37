"""Responses of starlette, which send themselves, as replies with a body."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response

from xorec.service.http.exchange import Reply


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
