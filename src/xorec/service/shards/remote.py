"""RemoteShard: another server that holds a range of the items, asked over a few connections."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from httptools import HttpParserError

from xorec.core.printable import shortened
from xorec.core.progress import logger
from xorec.service.http.problems import HttpError, busy
from xorec.service.shards.connection import Connection, ShardReply
from xorec.service.shards.share import Share

_FAILED = (OSError, HttpParserError)
"""Timeouts are OSErrors, too."""


class RemoteShard:
    """share: what it must hold. seconds: for an answer. connections: open at once, at most.

    A failure changes nothing but the log: the next request finds a shard that has come back.
    """

    def __init__(
        self, url: str, share: Share, *, seconds: float, connections: int, key: str | None = None
    ) -> None:
        self.url, self.share, self.seconds = url.rstrip("/"), share, seconds
        self._free: list[Connection] = []
        self._room = threading.BoundedSemaphore(connections)
        self._is_failing = False
        secret = "" if key is None else f"Authorization: Bearer {key}\r\n"
        self._head = f"Host: {urlsplit(url).netloc}\r\n{secret}"

    def ask(self, method: str, path: str, body: bytes = b"") -> Asked:
        """Send a request; its reply is asked for later."""
        head = (
            f"{method} {path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return Asked(self, head.encode("latin-1") + body)

    def failed(self, why: str) -> HttpError:
        """503, with the name of the shard: a list is never made without it."""
        number, count = self.share.number, self.share.count
        return busy(f"shard {number} of {count} ({self.url}) {why}.")

    def note(self, failure: HttpError | None) -> None:
        """Let the log say when it begins to fail, and when it answers again."""
        if failure is not None and not self._is_failing:
            logger.warning("%s", failure)
        elif failure is None and self._is_failing:
            logger.info("shard %s (%s) answers again", self.share, self.url)
        self._is_failing = failure is not None

    def take(self, deadline: float, *, new: bool = False) -> Connection:
        """A connection that is free, or a new one; give it back by `give_back` or `drop`."""
        if not new and not self._room.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        try:
            while self._free:
                connection = self._free.pop()
                if not new and not connection.is_stale():
                    return connection
                connection.close()
            return Connection(self.url, deadline)
        except BaseException:
            self._room.release()
            raise

    def give_back(self, connection: Connection, *, reusable: bool) -> None:
        """What `take` gave; kept for the next request if it may be."""
        if reusable:
            self._free.append(connection)
        else:
            connection.close()
        self._room.release()

    def close(self) -> None:
        """Let go of all connections that are free."""
        while self._free:
            self._free.pop().close()


class Asked:
    """A request that was sent to a shard. `reply` or `abandon` it, or a connection is lost."""

    def __init__(self, shard: RemoteShard, request: bytes) -> None:
        self._shard, self._request = shard, request
        self._deadline = time.monotonic() + shard.seconds
        self._connection: Connection | None = None
        self._try(self._send)

    def reply(self) -> Any:
        """The JSON of its answer; 503 with its name where there is none."""
        reply = self._try(self._receive)
        try:
            answer = json.loads(reply.body)
        except ValueError:
            raise self._failed("answers no JSON") from None
        if reply.status != 200:
            said = answer.get("detail", "") if isinstance(answer, dict) else ""
            detail = shortened(str(said)).rstrip(".")
            raise self._failed(f"answers {reply.status}: {detail}")
        self._shard.note(None)
        return answer

    def abandon(self) -> None:
        """Nobody wants the reply any more."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._shard.give_back(connection, reusable=False)

    def _send(self) -> None:
        self._connection = connection = self._shard.take(self._deadline)
        try:
            connection.send(self._request, self._deadline)
        except ConnectionError:
            self._send_again(connection)

    def _receive(self) -> ShardReply:
        connection = self._connection
        assert connection is not None
        try:
            reply, reusable = connection.receive(self._deadline)
        except ConnectionError:
            if connection.began:
                raise
            connection = self._send_again(connection)
            reply, reusable = connection.receive(self._deadline)
        self._connection = None
        self._shard.give_back(connection, reusable=reusable)
        return reply

    def _send_again(self, connection: Connection) -> Connection:
        """On a new connection: the shard closed this one, which was silent, while we sent."""
        if not connection.was_used:
            raise ConnectionError("it closed the connection")
        self._connection = None
        connection.close()
        self._connection = connection = self._shard.take(self._deadline, new=True)
        connection.send(self._request, self._deadline)
        return connection

    def _failed(self, why: str) -> HttpError:
        failure = self._shard.failed(why)
        self._shard.note(failure)
        return failure

    def _try(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except _FAILED as error:
            self.abandon()
            raise self._failed(_why(error, self._shard.seconds)) from None
        except BaseException:
            self.abandon()
            raise


def _why(error: Exception, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"does not answer in {seconds:g} seconds"
    if isinstance(error, HttpParserError):
        return "does not speak HTTP"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"cannot be reached: {reason}"
