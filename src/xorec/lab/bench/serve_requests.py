"""What `bench serve` sends (lists, events, or both) to which model, and the load generator wrk."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal
from uuid import uuid4

import numpy as np

from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank
from xorec.lab.bench.data import make_data
from xorec.lab.bench.http_sender import Payload
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes

_STREAM = 6


def drawn_recommender(
    items: int, users: int, bits: int = 64, *, seen: int = 20, seed: int = 0
) -> Recommender:
    """Low-rank codes, and `seen` items of each user, popular ones more often. Ids are numbers from
    0; an item's is its row. It folds in as `dsiml` does.

    >>> drawn_recommender(100, 10, bits=16).recommend(3, k=5).ids() == (
    ...     drawn_recommender(100, 10, bits=16).recommend(3, k=5).ids()
    ... )
    True
    """
    from xorec.models.siml.dsiml import DSIML

    data = make_data("low-rank", items, bits, users, seed, vectors=False)
    rng = np.random.default_rng((seed, _STREAM))
    places = (rng.random((users, seen)) ** 2 * items).astype(np.int32)
    places.sort(axis=1)
    first = np.ones(places.shape, dtype=np.bool_)
    first[:, 1:] = places[:, 1:] != places[:, :-1]
    indptr = np.concatenate([[0], first.sum(axis=1).cumsum()]).astype(np.int64)
    taken = places[first]
    ids = Ids("int64", np.arange(items))
    counts = np.bincount(taken, minlength=items).astype(np.int64)
    codes = Codes(data.query_codes, data.item_codes, bits)
    return Recommender(
        codes,
        user_ids=Ids("int64", np.arange(users)),
        item_ids=ids,
        seen=(indptr, taken),
        item_counts=counts,
        tie_rank=tie_rank(ids, counts),
        metadata={
            "model": "dsiml",
            "config": DSIML(bits=bits).config.model_dump(),
            "seed": seed,
            "data": {"users": users, "items": items, "pairs": len(taken), "digest": "drawn"},
            **codes.metadata(),
        },
    )


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


_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def is_installed() -> bool:
    return shutil.which("wrk") is not None


def run_wrk(
    url: str, script: str, connections: int, seconds: int, cores: tuple[int, ...] = ()
) -> dict[str, float]:
    """One thread, so many connections."""
    pin = []
    if cores and shutil.which("taskset"):
        pin = ["taskset", "-c", ",".join(map(str, cores))]
    with tempfile.TemporaryDirectory() as folder:
        lua = Path(folder) / "requests.lua"
        lua.write_text(script)
        size = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency"]
        words = [*pin, "wrk", *size, "-s", str(lua), url]
        out = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds + 60, check=True
        )
    return read_wrk(out.stdout)


def read_wrk(text: str) -> dict[str, float]:
    """What wrk prints, as columns; errors: answers that are no 2xx or 3xx, and broken sockets.

    >>> read_wrk('''
    ...   Latency Distribution
    ...      50%    1.21ms
    ...      99%  850.00us
    ...   5000 requests in 1.00s, 2MB read
    ...   Non-2xx or 3xx responses: 7
    ... Requests/sec:   4990.50
    ... ''')
    {'requests_per_second': 4990.5, 'requests': 5000, 'p50_ms': 1.21, 'p99_ms': 0.85, 'errors': 7}
    """

    def latency(share: int) -> float:
        found = re.search(rf"\b{share}%\s+([\d.]+)(us|ms|s|m)\b", text)
        return float(found[1]) * _UNITS[found[2]] if found else float("nan")

    def number(pattern: str) -> float:
        found = re.search(pattern, text)
        return sum(map(float, found.groups())) if found else 0.0

    broken = number(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
    return {
        "requests_per_second": number(r"Requests/sec:\s+([\d.]+)"),
        "requests": int(number(r"(\d+) requests in")),
        "p50_ms": latency(50),
        "p99_ms": latency(99),
        "errors": int(number(r"Non-2xx or 3xx responses: (\d+)") + broken),
    }
