"""Query strings and bodies become the route's pydantic models, or a refusal of one line."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from annotated_types import Le, Lt
from pydantic import BaseModel, ValidationError

from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError, http_error_of

_JSON = (b"application/json", b"")
_NDJSON = (
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonlines",
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

    def parse(self, text: bytes) -> BaseModel:
        """The model that a query string fills.

        >>> from xorec.service.schemas.lists import RecommendQuery
        >>> asked = QueryParser(RecommendQuery).parse(b"user=a%2Fb+c&deny=1&deny=2&k=5")
        >>> asked.user, asked.deny, asked.k
        ('a/b c', ('1', '2'), 5)
        """
        values: dict[str, Any] = {}
        if text:
            for part in text.split(b"&"):
                if not part:
                    continue
                raw_name, _, raw_value = part.partition(b"=")
                name, value = _decoded(raw_name), _decoded(raw_value)
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

    def is_ndjson(self, content_type: bytes) -> bool:
        """Whether the body has one JSON value a line; refuses what is neither that nor JSON.

        The type is asked for so that no web page can post here without a preflight.
        """
        kind = content_type.partition(b";")[0].strip().lower()
        if kind in _JSON:
            return False
        if self._ndjson and kind in _NDJSON:
            return True
        also = ", or application/x-ndjson for one object a line" if self._ndjson else ""
        shown = quoted(kind.decode("latin-1"))
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

    >>> from xorec.service.schemas.map import MapQuery
    >>> from xorec.service.schemas.lists import RecommendQuery
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


def _decoded(part: bytes) -> str:
    if b"%" in part or b"+" in part:
        part = unquote_to_bytes(part.replace(b"+", b" "))
    try:
        return part.decode()
    except UnicodeDecodeError:
        shown = quoted(part.decode("latin-1"))
        raise HttpError(400, f"{shown} in the query is no UTF-8: encode it so.") from None


def _is_list(annotation: Any) -> bool:
    if typing.get_origin(annotation) in (list, tuple):
        return True
    return any(_is_list(one) for one in typing.get_args(annotation))
