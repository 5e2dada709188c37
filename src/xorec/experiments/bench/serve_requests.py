"""The bytes of requests that `bench serve` sends: lists, events, or both."""

from __future__ import annotations

import json
from typing import Literal
from uuid import uuid4

import numpy as np

from xorec.experiments.bench.http_sender import Payload

What = Literal["lists", "events", "mixed"]
PREPARED = 8_192
"""Different requests for lists; they come again after that."""
EVERY = 10
"""Of mixed requests each tenth is an event."""


def get(path: str, key: str | None = None) -> bytes:
    """A GET with keep-alive."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{_key(key)}\r\n".encode()


def post(path: str, body: bytes, key: str | None = None, method: str = "POST") -> bytes:
    """A POST of JSON with keep-alive."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{_key(key)}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def payload_of(
    what: What, users: int, items: int, k: int = 10, *, key: str | None = None, seed: int = 0
) -> Payload:
    """Requests by number; ids are numbers from 0. Every event is a new one."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(users, size=PREPARED).tolist()
    lists = [get(f"/v1/recommend?user={user}&k={k}", key) for user in drawn]
    taken, tag = rng.integers(items, size=PREPARED).tolist(), uuid4().hex[:12]

    def event(i: int) -> bytes:
        who, item = drawn[i % PREPARED], taken[(i * 7 + i // PREPARED) % PREPARED]
        body = f'{{"user":{who},"item":{item},"event_id":"{tag}-{i}"}}'
        return post("/v1/events", body.encode(), key)

    if what == "lists":
        return lambda i: lists[i % PREPARED]
    if what == "events":
        return event
    return lambda i: event(i) if i % EVERY == 0 else lists[i % PREPARED]


def script_of(users: int, k: int = 10, key: str | None = None, seed: int = 0) -> str:
    """The same lists for wrk, as its Lua script."""
    drawn = np.random.default_rng(seed).integers(users, size=PREPARED).tolist()
    header = f'wrk.headers["Authorization"] = {json.dumps(f"Bearer {key}")}\n' if key else ""
    return (
        f"{header}local users, at = {{{','.join(map(str, drawn))}}}, 0\n"
        "request = function()\n  at = at % #users + 1\n"
        f'  return wrk.format("GET", "/v1/recommend?user=" .. users[at] .. "&k={k}")\nend\n'
    )


def _key(key: str | None) -> str:
    return f"Authorization: Bearer {key}\r\n" if key else ""
