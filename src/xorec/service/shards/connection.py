"""One connection to a shard: a request goes out, its reply comes in later, both before a deadline.

Sending and receiving are apart, so that one thread lets all shards work at the same time.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import httptools

_LONGEST = 64_000_000
"""Bytes of a reply, at most."""
_PIECE = 65_536
_PORTS = {"http": 80, "https": 443}


class ShardReply(NamedTuple):
    """Its status and its body."""

    status: int
    body: bytes


class Connection:
    """Used by one thread at a time.

    began: whether anything of the reply has come. was_used: for another request before this one.
    """

    def __init__(self, url: str, deadline: float) -> None:
        place = urlsplit(url)
        assert place.hostname is not None
        port = place.port or _PORTS[place.scheme]
        plain = socket.create_connection((place.hostname, port), _left(deadline))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket: socket.socket = plain
        if place.scheme == "https":
            context = ssl.create_default_context()
            self._socket = context.wrap_socket(plain, server_hostname=place.hostname)
        self.began = self.was_used = False

    def is_stale(self) -> bool:
        """Whether the other side has closed it, or says what nobody has asked for."""
        self.was_used = True
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True
        return True

    def send(self, request: bytes, deadline: float) -> None:
        """Send a whole request."""
        self.began = False
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(request)

    def receive(self, deadline: float) -> tuple[ShardReply, bool]:
        """The reply to it, and whether the connection may be used again."""
        parts = _Parts()
        while not parts.done:
            self._socket.settimeout(_left(deadline))
            data = self._socket.recv(_PIECE)
            if not data:
                raise ConnectionError("it closed the connection")
            self.began = True
            parts.parser.feed_data(data)
            if parts.size > _LONGEST:
                raise ConnectionError("its answer is too long")
        return ShardReply(parts.status, b"".join(parts.body)), parts.keep_alive

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()


class _Parts:
    """What the parser finds."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body: list[bytes] = []
        self.size = self.status = 0
        self.done = self.keep_alive = False

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.keep_alive = self.parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self.body.append(body)
        self.size += len(body)

    def on_message_complete(self) -> None:
        self.done = True


def _left(deadline: float) -> float:
    """Seconds until then; TimeoutError where there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds
