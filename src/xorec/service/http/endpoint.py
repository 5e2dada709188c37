"""An endpoint: a route made ready, which parses query strings and bodies into its models."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from annotated_types import Le, Lt
from pydantic import BaseModel, ValidationError

from xorec.core.printable import quoted
from xorec.service.config import Limits
from xorec.service.http.access import RANKS
from xorec.service.http.exchange import Reply, Request
from xorec.service.http.problems import HttpError, http_error_of
from xorec.service.http.routes import Route


def _allowed(methods: Iterable[str]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS"}))


def wrong_method(method: str, path: str, methods: Iterable[str]) -> HttpError:
    allowed = _allowed(methods)
    message = f"{path} takes no {quoted(method)[1:-1]}: it takes {allowed}."
    return HttpError(405, message, headers=(("allow", allowed),))


def options_route(path: str, methods: Iterable[str]) -> Route:
    """What OPTIONS answers at a path: its methods, and nothing that would let other pages in."""
    reply = Reply(204, headers=(("allow", _allowed(methods)),))

    return Route(
        method="OPTIONS",
        path=path,
        handler=lambda service: reply,
        role="open",
        limited=False,
        summary="What can be done here.",
    )


_DISCARDED = 64_000_000
"""Bytes that are read and thrown away, so that a client that sends first gets to read its 413."""
CLOSE = (("connection", "close"),)


def declared_length(headers: dict[str, str]) -> int | None:
    """Content-Length, if there is one."""
    length = headers.get("content-length")
    if length is None:
        return None
    if not (length.isascii() and length.isdigit()) or len(length) > 18:
        raise HttpError(400, f"Content-Length is {quoted(length)}.", headers=CLOSE)
    return int(length)


async def read_parts(parts: AsyncIterator[bytes], declared: int | None, most: int) -> bytes:
    """The body that arrives in parts; 413 where it is longer than `most`."""
    if declared is not None and declared > _DISCARDED:
        raise _too_long(f"the body has {declared:,} bytes", most, close=True)
    kept, length = [], 0
    async for part in parts:
        length += len(part)
        if length <= most:
            kept.append(part)
        elif length > _DISCARDED:
            raise _too_long(f"the body has more than {_DISCARDED:,} bytes", most, close=True)
    if length > most:
        raise _too_long(f"the body has {length:,} bytes", most, close=False)
    return b"".join(kept)


def _too_long(what: str, most: int, *, close: bool) -> HttpError:
    message = f"{what}: {most:,} at most (limits.body_bytes), send it in parts."
    return HttpError(413, message, headers=CLOSE if close else ())


_JSON = ("application/json", "")
_NDJSON = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
)


class QueryParser:
    """Query strings of one route. Repeated names are lists where the model has a list."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self._validate = model.__pydantic_validator__.validate_python
        self._lists = frozenset(
            field.alias or name
            for name, field in model.model_fields.items()
            if _is_list(field.annotation)
        )

    def parse(self, text: str) -> BaseModel:
        """The model that a query string fills.

        >>> from xorec.service.api.list_request import RecommendQuery
        >>> asked = QueryParser(RecommendQuery).parse("user=a%2Fb+c&deny=1&deny=2&k=5")
        >>> asked.user, asked.deny, asked.k
        ('a/b c', ('1', '2'), 5)
        """
        values: dict[str, Any] = {}
        if text:
            for part in text.split("&"):
                if not part:
                    continue
                raw_name, _, raw_value = part.partition("=")
                name, value = _decoded_text(raw_name), _decoded_text(raw_value)
                if name in self._lists:
                    values.setdefault(name, []).append(value)
                elif name in values:
                    raise HttpError(422, f"{quoted(name)} stands twice in the query: give one.")
                else:
                    values[name] = value
        try:
            return self._validate(values)  # type: ignore[no-any-return]
        except ValidationError as error:
            raise http_error_of(error, self._model, "the query") from None


def _is_ndjson(route: Route, content_type: str) -> bool:
    """Whether the body has one JSON value a line; refuses what is neither that nor JSON.

    The type is asked for so that no web page can post here without a preflight.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _JSON:
        return False
    if route.ndjson and kind in _NDJSON:
        return True
    also = ", or application/x-ndjson for one object a line" if route.ndjson else ""
    raise HttpError(
        415, f"Content-Type is {quoted(kind)}: send `Content-Type: application/json`{also}."
    )


def _parsed_body(models: Iterable[type[BaseModel]], body: bytes) -> BaseModel:
    """The first model that fits; else the error of the one that fits best."""
    errors = []
    for model in models:
        try:
            return model.__pydantic_validator__.validate_json(body or b"{}")  # type: ignore[no-any-return]
        except ValidationError as error:
            errors.append((error, model))
    best, model = min(errors, key=lambda one: one[0].error_count())
    raise http_error_of(best, model, "the body")


def bounded_k(models: Iterable[type[BaseModel]]) -> bool:
    """Whether `limits.k` holds for a route: its model has a k without a bound of its own.

    >>> from xorec.service.api.map import MapQuery
    >>> from xorec.service.api.list_request import RecommendQuery
    >>> bounded_k([RecommendQuery]), bounded_k([MapQuery])
    (True, False)
    """
    fields = (model.model_fields.get("k") for model in models)
    return any(
        field is not None and not any(isinstance(one, (Le, Lt)) for one in field.metadata)
        for field in fields
    )


def check_k(k: int | None, most: int) -> None:
    """Refuse a longer list than `limits.k` allows."""
    if k is not None and k > most:
        raise HttpError(422, f"k is {quoted(k)}: {most:,} at most (limits.k).")


def _decoded_text(part: str) -> str:
    if "%" not in part and "+" not in part:
        return part
    raw = unquote_to_bytes(part.replace("+", " "))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        shown = quoted(raw.decode("latin-1"))
        raise HttpError(400, f"{shown} in the query is no UTF-8: encode it so.") from None


def _is_list(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (list, tuple):
        return True
    return any(_is_list(one) for one in typing.get_args(annotation))


Observe = Callable[[float], None]


class Endpoint:
    """Reads requests of one route. observe: by status, where seconds are counted."""

    def __init__(self, route: Route, limits: Limits) -> None:
        self.route = route
        self.handler = route.handler
        self.rank = RANKS[route.role]
        self.is_async = inspect.iscoroutinefunction(route.handler)
        self.takes_body = bool(route.bodies) or route.method in ("POST", "PUT", "PATCH")
        self.waits_for_disk = route.limited and route.writer and not route.thread
        self.observe: dict[int, Observe] = {}
        self._query = None if route.query is None else QueryParser(route.query)
        self._wants_request = "request" in inspect.signature(route.handler).parameters
        self._most = limits.k
        models = route.bodies if route.query is None else (route.query,)
        self._bounded_k = bounded_k(models)

    def arguments(self, request: Request, body: bytes) -> list[Any]:
        """What the handler gets after the service; a HttpError if the request does not fit."""
        found: list[Any] = [request] if self._wants_request else []
        if self._query is not None:
            found.append(self._query.parse(request.query))
        elif request.query and request.method != "OPTIONS" and not self.route.any_query:
            raise HttpError(422, f"{self.route.path} takes no query: leave it out.")
        if self.route.bodies:
            if _is_ndjson(self.route, request.headers.get("content-type", "")):
                if "transfer-encoding" in request.headers:
                    raise HttpError(411, "lines need a Content-Length: half of them is no error.")
                found.append(body)
            else:
                found.append(_parsed_body(self.route.bodies, body))
        if self._bounded_k:
            check_k(getattr(found[-1], "k", None), self._most)
        return found
