"""A client for the examples in docstrings, without a service: its canned answers are those of the
little shop of `testing.examples`, so that an example takes no time and always says the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from xorec.client import Client

_MILK: dict[str, Any] = {"id": "milk", "score": 0.7}
_EVENT = {"seq": 8, "event_id": "e1", "user": "cem", "item": "milk", "kind": "click", "value": 1.0}
_EVENT["ts"] = "2026-11-16T12:00:00Z"
_TASK = {"id": "t1", "kind": "refit", "name": "default", "state": "running"}
_ARMS = [{"model": "default", "share": 0.5}, {"model": "b", "share": 0.5}]
_EXPERIMENT = {"name": "ab", "salt": "", "active": True, "arms": _ARMS}
_SNAPSHOT = {"id": "s1", "path": "s1.tar", "nbytes": 61440, "seq": 8, "generation": 2}
_SNAPSHOT["made"] = "2026-11-16T12:00:00Z"
_SERVED = {"name": "default", "kind": "dsiml", "generation": 2, "digest": "blake3:7a32"}
_LIST = {"user": "cem", "items": [_MILK], "request_id": "r1"}

ANSWERS: dict[str, dict[str, Any]] = {
    "recommend": _LIST,
    "recommend/batch": {"results": [{"status": 200, "answer": _LIST}]},
    "next": {"user": "cem", "items": [{"id": "rice"}]},
    "similar": {"item": "tea", "items": [_MILK]},
    "similar-users": {"user": "cem", "users": [{"id": "ann"}]},
    "explain": {"item": "milk", "explanation": {"rank": 1, "because": [{"id": "tea"}]}},
    "popular": {"items": [{"id": "tea"}]},
    "latest": {"items": [{"id": "rice"}]},
    "trending": {"items": [_MILK]},
    "POST events": {"accepted": 1, "duplicates": 0, "seq": 8, "durability": "disk"},
    "events": {"events": [_EVENT]},
    "DELETE events": {"user": "cem", "events": 1, "exposures": 0, "seq": 9},
    "items": {"changed": 1, "seq": 9, "items": [{"id": "tea", "name": "Green tea"}]},
    "users": {"users": [{"id": "ann", "history": ["milk", "tea"]}]},
    "categories": {"categories": [{"name": "drinks", "count": 2}]},
    "codes": {"bits": 8, "user": "2f", "items": [{"id": "milk", "code": "2d"}]},
    "models": {"models": [{**_SERVED, "generations": []}]},
    "models/activate": {"name": "default", "generation": 2, "seq": 9},
    "models/rollback": {"name": "default", "generation": 1, "seq": 9},
    "refit": {"task": _TASK},
    "tasks": {"tasks": [_TASK]},
    "PUT experiments": {"experiment": _EXPERIMENT, "seq": 9},
    "experiments": {"experiments": [_EXPERIMENT]},
    "POST snapshots": {"snapshot": _SNAPSHOT},
    "snapshots": {"snapshots": [_SNAPSHOT]},
    "stats": {"stats": {"events": 8}},
    "map": {"items": ["tea", "milk"], "x": [19717, -31900], "y": [32767, -10376], "count": [4, 2]},
    "map/colours": {"by": "popularity", "shown": "high", "legend": [], "colours": "AgI="},
    "map/items": {"items": [{"row": 0, "id": "milk"}]},
    "compare": {
        "a": _SERVED,
        "b": {**_SERVED, "name": "b"},
        "k": 10,
        "measured_on": None,
        "metrics": [],
        "users": 4,
        "overlap": 0.5,
        "differ": [],
        "seq": 9,
    },
    "histogram": {"counts": [0, 1, 2], "cut": 2, "tie": 1},
    "readyz": {},
    "export": _EVENT,
}
"""By path under /v1, after the method where that matters."""


def example_client() -> Client:
    """A client whose service answers from `ANSWERS`.

    >>> example_client().popular(1).items[0].id
    'tea'
    """
    from xorec.client import Client

    return Client(transport=httpx.MockTransport(_answer))


def _answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path.removeprefix("/v1").removeprefix("/")
    if path == "live":
        return httpx.Response(200, text='event: stats\ndata: {"events": 8}\n\n')
    found = ANSWERS.get(f"{request.method} {path}", ANSWERS.get(path))
    if found is None:
        return httpx.Response(404, json={"title": "", "status": 404, "detail": f"no {path}"})
    return httpx.Response(200, content=json.dumps(found))
