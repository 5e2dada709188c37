"""A route: what the app must know of an endpoint to check, run, document and measure it."""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from xorec.service.http.exchange import Reply, Stream

    Given = BaseModel | Reply | Stream

Role = Literal["open", "read", "write", "admin"]
Handler = Callable[..., "Given | Awaitable[Given]"]
"""Takes the service, then as it has parameters of these names and in this order: the `request` as
it came; `query` or `body`, the model that the query string or the JSON fills. A body that may be
`bytes` is given the lines of NDJSON so."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path.

    role: the least key. query, answer: pydantic models. bodies: models that are tried in order;
    without any the route takes no body. status: of success. thread: run in a thread, because it
    may take more than a millisecond. writer: only the worker that holds the log may answer; others
    hand it on. limited: counts among concurrent requests, and has to wait until the service is
    ready. documented: stands in the OpenAPI document. any_query: a query string is no matter of
    the service (the page keeps its state there).
    """

    method: str
    path: str
    handler: Handler
    summary: str
    answer: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    bodies: tuple[type[BaseModel], ...] = ()
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
    with the summary of the operation, and whose annotations are its models.

    >>> routes = Routes("health")
    >>> @routes("GET", "/livez", role="open")
    ... def livez(service):
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
            types = typing.get_type_hints(handler)
            given: dict[str, Any] = {
                "tag": self._tag,
                "summary": summary,
                "query": types.get("query"),
                "bodies": _models_in(types.get("body")),
                "ndjson": bytes in typing.get_args(types.get("body")),
                "answer": next(iter(_models_in(types.get("return"))), None),
            }
            self.append(Route(method=method, path=path, handler=handler, **given | about))
            return handler

        return add


def _models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The pydantic models of an annotation: itself, or those of a union."""
    kinds = typing.get_args(annotation) or (annotation,)
    return tuple(one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel))
