"""A service inside the test's own process: real log, real generations, no sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from xorec.recommender.recommender import Recommender
from xorec.service.http.app import App
from xorec.service.http.exchange import Request
from xorec.service.processes.start import Started
from xorec.service.service import Service
from xorec.testing.service import started


class Served:
    """Asks the app as a client would: `get`, `post`, `put`, `patch`, `delete` give the JSON."""

    def __init__(self, app: App, started: Started) -> None:
        self.app, self.started = app, started
        self.status = 0

    @property
    def service(self) -> Service:
        """What the handlers work with."""
        return self.started.service

    def ask(
        self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """One request; its status is kept in `status`."""
        text = urlencode(query or {}, doseq=True)
        if isinstance(body, bytes):
            headers, sent = {"content-type": "application/x-ndjson"}, body
        else:
            headers = {"content-type": "application/json"}
            sent = b"" if body is None else json.dumps(body).encode()
        request = Request(method, f"/v1/{path}", text, headers, "test")
        reply = asyncio.run(self.app.reply(request, sent))
        self.status = reply.status
        is_json = reply.media_type.endswith("json") and "ndjson" not in reply.media_type
        return json.loads(reply.body) if is_json else reply.body

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", path, query=query)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        return self.ask("PUT", path, body)

    def patch(self, path: str, body: Any) -> Any:
        return self.ask("PATCH", path, body)

    def delete(self, path: str, **query: Any) -> Any:
        return self.ask("DELETE", path, query=query)

    def ids(self, user: Any, k: int = 10, **query: Any) -> list[Any]:
        """The ids of a user's list."""
        return [one["id"] for one in self.get("recommend", user=user, k=k, **query)["items"]]

    def finish(self, task: str, seconds: float = 120) -> Any:
        """A task when it has ended well."""
        done = self.service.require_tasks().wait(task, seconds)
        assert done.state == "done", done
        return done


@contextmanager
def served(
    recommender: Recommender,
    folder: Path,
    more: Mapping[str, Recommender] | None = None,
    **config: Any,
) -> Iterator[Served]:
    """Serve a recommender out of `folder`; what is there already is taken up again.

    more: further models by name. config: settings, as of `Config`.
    """
    with started(recommender, folder, more, **config) as (app, made):
        yield Served(app, made)
