"""A request and its reply as plain values: the same from a socket, a test or another worker."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

Headers = tuple[tuple[bytes, bytes], ...]


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
