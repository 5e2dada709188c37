"""An endpoint: a route made ready, which parses query strings and bodies into its models."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from annotated_types import Le, Lt
from pydantic import BaseModel, ValidationError

from xorec.core.printable import quoted
from xorec.service.config import Limits
from xorec.service.http.access import RANKS
from xorec.service.http.exchange import Reply, Request
from xorec.service.http.problems import HttpError, http_error_of
from xorec.service.http.routes import Call, Route

if TYPE_CHECKING:
    from xorec.service.service import Service


def _allowed(methods: Iterable[str]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS"}))


def wrong_method(method: str, path: str, methods: Iterable[str]) -> HttpError:
    allowed = _allowed(methods)
    message = f"{path} takes no {quoted(method)[1:-1]}: it takes {allowed}."
    return HttpError(405, message, headers=(("allow", allowed),))


def options_route(path: str, methods: Iterable[str]) -> Route:
    """What OPTIONS answers at a path: its methods, and nothing that would let other pages in."""
    reply = Reply(204, headers=(("allow", _allowed(methods)),))

    def options(service: Service, call: Call) -> Reply:
        return reply

    return Route(
        method="OPTIONS",
        path=path,
        handler=options,
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


class BodyParser:
    """Bodies of one route: one of its models, the first that fits."""

    def __init__(self, models: Any, ndjson: bool = False) -> None:
        self.models = models_of(models)
        self._ndjson = ndjson

    def is_ndjson(self, content_type: str) -> bool:
        """Whether the body has one JSON value a line; refuses what is neither that nor JSON.

        The type is asked for so that no web page can post here without a preflight.
        """
        kind = content_type.partition(";")[0].strip().lower()
        if kind in _JSON:
            return False
        if self._ndjson and kind in _NDJSON:
            return True
        also = ", or application/x-ndjson for one object a line" if self._ndjson else ""
        shown = quoted(kind)
        raise HttpError(
            415, f"Content-Type is {shown}: send `Content-Type: application/json`{also}."
        )

    def parse(self, body: bytes) -> BaseModel:
        """The model that fits; else the line of the one that fits best."""
        best: tuple[int, HttpError] | None = None
        for model in self.models:
            try:
                return model.__pydantic_validator__.validate_json(body or b"{}")  # type: ignore[no-any-return]
            except ValidationError as error:
                count = error.error_count()
                if best is None or count < best[0]:
                    best = count, http_error_of(error, model, "the body")
        assert best is not None
        raise best[1]


def models_of(body: Any) -> tuple[type[BaseModel], ...]:
    """The models of a route's body: none, one or several."""
    if body is None:
        return ()
    return tuple(body) if isinstance(body, (list, tuple)) else (body,)


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
            content_type = request.headers.get("content-type", "")
            if self._body.is_ndjson(content_type):
                if "transfer-encoding" in request.headers:
                    raise HttpError(411, "lines need a Content-Length: half of them is no error.")
                call.lines = body
            else:
                call.body = parsed = self._body.parse(body)
                if self._bounded_body:
                    check_k(getattr(parsed, "k", None), self._most)
        return call
