"""A route: what the shell must know of an endpoint to check, run, document and measure it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from xorec.service.http.exchange import Reply, Request, Stream
    from xorec.service.service import Service

    Given = BaseModel | Reply | Stream

Role = Literal["open", "read", "write", "admin"]
Handler = Callable[["Service", "Call"], "Given | Awaitable[Given]"]


@dataclass(slots=True)
class Call:
    """One request, checked: what a handler gets.

    query: the route's query model, filled from the query string; body: its body model, filled
    from JSON (None where the route has none). lines: the raw body of NDJSON, where it came so.
    headers: as they came, names in lower case. request: as it came, to be handed on.
    """

    request_id: str
    query: Any = None
    body: Any = None
    lines: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    request: Request | None = None


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path.

    role: the least key. query, body, answer: pydantic models (or a list of body models that are
    tried in order). status: of success. thread: run in a thread, because it may take more than a
    millisecond. writer: only the worker that holds the log may answer; others hand it on.
    limited: counts among concurrent requests, and has to wait until the service is ready.
    documented: stands in the OpenAPI document. any_query: a query string is no matter of the
    service (the page keeps its state there).
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    body: Any = None
    role: Role = "read"
    status: int = 200
    thread: bool = False
    writer: bool = False
    ndjson: bool = False
    limited: bool = True
    media_type: str = "application/json"
    also: str | None = None
    tag: str = "lists"
    documented: bool = True
    any_query: bool = False


H = TypeVar("H", bound=Handler)


class Routes(list[Route]):
    """The routes of one resource. It is called as a decorator of a handler, whose docstring begins
    with the summary of the operation.

    >>> routes = Routes("health")
    >>> @routes("GET", "/livez", role="open")
    ... def livez(service, call):
    ...     \"\"\"Whether the process answers.\"\"\"
    >>> routes[0].tag, routes[0].path, routes[0].summary
    ('health', '/livez', 'Whether the process answers.')
    """

    def __init__(self, tag: str = "lists") -> None:
        super().__init__()
        self._tag = tag

    def __call__(self, method: str, path: str, **about: Any) -> Callable[[H], H]:
        """A decorator that adds this route. about: further fields of `Route`."""

        def add(handler: H) -> H:
            summary = " ".join((handler.__doc__ or "").partition("\n\n")[0].split())
            every = {"tag": self._tag, "summary": summary, **about}
            self.append(Route(method=method, path=path, handler=handler, **every))
            return handler

        return add
