"""A request and its reply as plain values: the same from a socket, a test or another worker."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from dataclasses import dataclass, field

Headers = tuple[tuple[bytes, bytes], ...]
HANDED_ON = b"x-xorec-handed-on"
"""Header of a request that another worker has handed on."""


@dataclass(slots=True)
class Request:
    """What came in. headers: names in lower case; of several of one name the last."""

    method: str
    path: str
    query: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    client: str = ""
    id: str = ""
    began: int = field(default_factory=time.perf_counter_ns)


@dataclass(slots=True)
class Reply:
    """What goes out. headers: besides type, length and those that every reply has."""

    status: int
    body: bytes = b""
    media_type: bytes = b"application/json"
    headers: Headers = ()


LONGEST = 128
_sane = re.compile(rb"[\x21-\x7e]{1,%d}" % LONGEST).fullmatch
_made_here = re.compile(r"w(\d{1,3})-[0-9a-f]{10}-[0-9a-f]+").fullmatch


class RequestIds:
    """New ids of one worker: its number, ten random letters of this start, and a count."""

    def __init__(self, worker: int = 0) -> None:
        self._prefix = f"w{worker}-{secrets.token_hex(5)}-"
        self._count = itertools.count(1)

    def new(self) -> str:
        """An id that nobody had before."""
        return f"{self._prefix}{next(self._count):x}"

    def of(self, given: bytes | None) -> str:
        """The client's id if it is printable ASCII of at most 128 characters, else a new one.

        >>> RequestIds().of(b"order-7")
        'order-7'
        >>> RequestIds(3).of(b"two words")[:3]
        'w3-'
        """
        if given is not None and _sane(given):
            return given.decode("ascii")
        return self.new()


def worker_of(request_id: str) -> int | None:
    """The worker that made the id; None if a client did.

    >>> worker_of(RequestIds(3).new()), worker_of("order-7")
    (3, None)
    """
    found = _made_here(request_id)
    return int(found[1]) if found else None
