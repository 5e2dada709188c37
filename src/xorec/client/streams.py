"""Answers that come in pieces: lines of JSON, and server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Lines:
    r"""Lines out of pieces of bytes; only a line feed ends one (JSON may hold U+2028).

    >>> lines = Lines()
    >>> lines.feed(b"a\r\nb"), lines.feed(b"c\n"), lines.rest()
    ([b'a'], [b'bc'], [])
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that this piece completes."""
        *complete, last = piece.split(b"\n")
        if complete:
            complete[0] = b"".join((*self._open, complete[0]))
            self._open = []
        if last:
            self._open.append(last)
        return [line.removesuffix(b"\r") for line in complete]

    def rest(self) -> list[bytes]:
        """What stands after the last line feed."""
        rest, self._open = b"".join(self._open), []
        return [rest] if rest else []


class LiveEvent(NamedTuple):
    """A server-sent event. data: its JSON, or its text."""

    event: str
    data: Any
    id: str | None = None


def json_line(line: bytes) -> Iterable[dict[str, Any]]:
    """A line of JSON; an empty one is nothing."""
    if line.strip():
        yield json.loads(line)


class ServerSentEvents:
    """Reads server-sent events line by line (the HTML standard, section 9.2.6).

    >>> read = ServerSentEvents()
    >>> lines = (b": hello", b"event: stats", b'data: {"rate":', b"data: 3}", b"")
    >>> [event for line in lines for event in read(line)]
    [LiveEvent(event='stats', data={'rate': 3}, id=None)]
    """

    def __init__(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def __call__(self, line: bytes) -> Iterable[LiveEvent]:
        if not line:
            if self._data:
                yield LiveEvent(self._event or "message", _value("\n".join(self._data)), self._id)
            self._event, self._data = "", []
            return
        name, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
