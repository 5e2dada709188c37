"""A request and its reply as plain values: the same from a socket, a test or another worker."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

Headers = tuple[tuple[str, str], ...]
HANDED_ON = "x-xorec-handed-on"
"""Header of a request that another worker has handed on."""


@dataclass(slots=True)
class Request:
    """What came in. headers: names in lower case; of several of one name the last."""

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    client: str = ""
    id: str = ""
    began: int = field(default_factory=time.perf_counter_ns)


@dataclass(slots=True)
class Reply:
    """What goes out. headers: besides type, length and those that every reply has."""

    status: int
    body: bytes = b""
    media_type: str = "application/json"
    headers: Headers = ()


@dataclass(slots=True)
class Stream:
    """A reply of many parts. length: of all of them in bytes; None for events without an end.

    A part that cannot be read ends the connection before `length`: the client sees that it is cut.
    """

    parts: AsyncIterator[bytes]
    media_type: str
    length: int | None = None
    status: int = 200
    headers: Headers = ()


LONGEST = 128
_sane = re.compile(rf"[\x21-\x7e]{{1,{LONGEST}}}").fullmatch
_made_here = re.compile(r"w(\d{1,3})-[0-9a-f]{10}-[0-9a-f]+").fullmatch


class RequestIds:
    """New ids of one worker: its number, ten random letters of this start, and a count."""

    def __init__(self, worker: int = 0) -> None:
        self._prefix = f"w{worker}-{secrets.token_hex(5)}-"
        self._count = itertools.count(1)

    def new(self) -> str:
        """An id that no request had before."""
        return f"{self._prefix}{next(self._count):x}"

    def of(self, given: str | None) -> str:
        """The client's id if it is printable ASCII of at most 128 characters, else a new one.

        >>> RequestIds().of("order-7")
        'order-7'
        >>> RequestIds(3).of("two words")[:3]
        'w3-'
        """
        return given if given is not None and _sane(given) else self.new()


def worker_of(request_id: str) -> int | None:
    """The worker that made the id; None if a client did.

    >>> worker_of(RequestIds(3).new()), worker_of("order-7")
    (3, None)
    """
    found = _made_here(request_id)
    return int(found[1]) if found else None
