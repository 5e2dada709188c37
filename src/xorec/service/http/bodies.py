"""Bodies: read whole, within bytes and seconds, however the client sends them."""

from __future__ import annotations

import asyncio
from typing import Any

from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError
from xorec.service.settings.config import Limits

_DISCARDED = 64_000_000
"""Bytes that are read and thrown away, so that a client that sends first gets to read its 413."""
_CLOSE = ((b"connection", b"close"),)


async def read_body(receive: Any, headers: dict[bytes, bytes], limits: Limits) -> bytes:
    """The body of a request; 413 where it is too long, also without a length, 408 if it is late."""
    most = limits.body_bytes
    declared = _declared(headers.get(b"content-length"))
    if declared is not None and declared > most:
        raise _too_long(f"the body has {declared:,} bytes", most, close=declared > _DISCARDED)
    message = await _next(receive, limits)
    if not message.get("more_body"):
        body: bytes = message.get("body", b"")
        _check(len(body), most)
        return body
    parts, length = [message["body"]], len(message["body"])
    while message.get("more_body"):
        message = await _next(receive, limits)
        length += len(message.get("body", b""))
        if length <= most:
            parts.append(message.get("body", b""))
        elif length > _DISCARDED:
            raise _too_long(f"the body has more than {_DISCARDED:,} bytes", most, close=True)
    _check(length, most)
    return b"".join(parts)


def _check(length: int, most: int) -> None:
    if length > most:
        raise _too_long(f"the body has {length:,} bytes", most, close=False)


def _too_long(what: str, most: int, *, close: bool) -> HttpError:
    message = f"{what}: {most:,} at most (limits.body_bytes), send it in parts."
    return HttpError(413, message, headers=_CLOSE if close else ())


def _declared(length: bytes | None) -> int | None:
    if length is None:
        return None
    if not length.isdigit() or len(length) > 18:
        raise HttpError(400, f"Content-Length is {quoted(length.decode('latin-1'))}.")
    return int(length)


async def _next(receive: Any, limits: Limits) -> Any:
    """The next piece."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            message = await receive()
    except TimeoutError:
        raise HttpError(
            408, f"no body came in {limits.body_seconds:g} seconds.", headers=_CLOSE
        ) from None
    if message["type"] == "http.disconnect":
        raise DisconnectedError
    return message


class DisconnectedError(HttpError):
    """The client went away before its body was whole: nobody reads the reply."""

    def __init__(self) -> None:
        super().__init__(400, "the client went away.")
