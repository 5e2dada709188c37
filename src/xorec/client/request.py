"""A request as data: what an endpoint is asked, and what its answer is read as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

A = TypeVar("A")
Pairs = tuple[tuple[str, str], ...]
Decode = Callable[[], Callable[[bytes], Iterable[A]]]
"""Makes a reader that takes line after line and gives what is complete."""


@dataclass(frozen=True)
class Request(Generic[A]):
    """One request. params: of the query string, in order. body: for JSON.

    seq: where the request says how much of the log its answer must know, if it can. repeatable: to
    send it twice does no harm. accepts: statuses besides 2xx that are answers.
    """

    method: str
    path: str
    read: Callable[[int, bytes], A] = field(repr=False)
    params: Pairs = ()
    body: Mapping[str, Any] | None = None
    seq: Literal["query", "body", "queries"] | None = None
    repeatable: bool = True
    accepts: tuple[int, ...] = ()

    @property
    def what(self) -> str:
        """For messages."""
        return f"{self.method} {self.path}"

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return None if self.body is None else encode(self.body)

    def knowing(self, seq: int) -> Request[A]:
        """The same request, to be answered with all events up to this place of the log.

        >>> ranked = Request("GET", "/v1/popular", reader(BaseModel), seq="query")
        >>> ranked.knowing(7).params
        (('seq', '7'),)
        """
        if not seq or self.seq is None:
            return self
        if self.seq == "query":
            return replace(self, params=(*self.params, ("seq", str(seq))))
        body = dict(self.body or {})
        if self.seq == "body":
            return replace(self, body={"seq": seq, **body})
        queries = [{"seq": seq, **query} for query in body["queries"]]
        return replace(self, body={**body, "queries": queries})


@dataclass(frozen=True)
class StreamRequest(Generic[A]):
    """A request whose answer comes in pieces."""

    request: Request[None]
    decode: Decode[A] = field(repr=False)


M = TypeVar("M", bound=BaseModel)


def reader(model: type[M]) -> Callable[[int, bytes], M]:
    """Reads an answer as this model."""
    return lambda status, content: model.model_validate_json(content)


def nothing(status: int, content: bytes) -> None:
    """Reads nothing: a stream is read piece by piece."""


def pairs(**values: Any) -> Pairs:
    """A query string: None is left out, lists are repeated, `model_` stands for `model`.

    >>> pairs(user=7, deny=["a", "b"], explain=True, seq=None)
    (('user', '7'), ('deny', 'a'), ('deny', 'b'), ('explain', 'true'))
    """
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        several = value if isinstance(value, (list, tuple)) else [value]
        found += [(name, _text(one)) for one in several if one is not None]
    return tuple(found)


def body(**values: Any) -> dict[str, Any]:
    """A JSON body: None is left out."""
    return {name: value for name, value in values.items() if value is not None}


def encode(value: Any) -> bytes:
    """JSON, also of dates, models and the numbers of NumPy.

    >>> import numpy as np
    >>> encode({"user": np.int64(7)})
    b'{"user":7}'
    """
    return to_json(value, by_alias=True, exclude_none=True, inf_nan_mode="constants", fallback=_raw)


def _raw(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r} has no JSON: give text or a number.")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
