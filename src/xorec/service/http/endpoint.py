"""An endpoint: a route made ready, so that a request finds everything looked up."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from xorec.service.http.exchange import Request
from xorec.service.http.keys import RANKS
from xorec.service.http.parsing import BodyParser, QueryParser, bounded_k, check_k
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Call, Route
from xorec.service.settings.config import Limits

Observe = Callable[[float], None]


class Endpoint:
    """Reads requests of one route. observe: by status, where seconds are counted."""

    def __init__(self, route: Route, limits: Limits) -> None:
        self.route = route
        self.handler = route.handler
        self.rank = RANKS[route.role]
        self.is_async = inspect.iscoroutinefunction(route.handler)
        self.takes_body = route.body is not None or route.method in ("POST", "PUT", "PATCH")
        self.waits_for_disk = route.limited and route.writer and not route.thread
        self.observe: dict[int, Observe] = {}
        self._query = None if route.query is None else QueryParser(route.query)
        self._body = None if route.body is None else BodyParser(route.body, route.ndjson)
        self._most = limits.k
        bodies = () if self._body is None else self._body.models
        self._bounded_query = route.query is not None and bounded_k([route.query])
        self._bounded_body = bounded_k(bodies)

    def call(self, request: Request, body: bytes) -> Call:
        """What the handler gets; a HttpError if the request does not fit."""
        call = Call(request.id, headers=request.headers, request=request)
        if self._query is not None:
            call.query = query = self._query.parse(request.query)
            if self._bounded_query:
                check_k(query.k, self._most)  # type: ignore[attr-defined]
        elif request.query and request.method != "OPTIONS" and not self.route.any_query:
            raise HttpError(422, f"{self.route.path} takes no query: leave it out.")
        if self._body is not None:
            content_type = request.headers.get(b"content-type", b"")
            if self._body.is_ndjson(content_type):
                call.lines = body
            else:
                call.body = parsed = self._body.parse(body)
                if self._bounded_body:
                    check_k(getattr(parsed, "k", None), self._most)
        return call
