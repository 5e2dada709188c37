"""Requests as data, and the decorators that turn a method's signature into one."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

if TYPE_CHECKING:
    from xorec.client.client import AsyncClient, Client

P = ParamSpec("P")
A = TypeVar("A")
B = TypeVar("B")
Json = dict[str, Any]
Pairs = tuple[tuple[str, str], ...]
Seq = Literal["query", "body", "queries"]
Decode = Callable[[], Callable[[bytes], Iterable[A]]]
"""Makes a reader that takes line after line and gives what is complete."""


@dataclass(frozen=True)
class Request(Generic[A]):
    """One request. read: the answer from its status and body. params: of the query string, in
    order. body: for JSON. decode: of an answer that comes line by line.

    seq: where the request says which events its answer must know. repeatable: sending it twice does
    no harm. accepts: statuses besides 2xx that are answers.
    """

    method: str
    path: str
    read: Callable[[int, bytes], A] = field(repr=False)
    params: Pairs = ()
    body: Mapping[str, Any] | None = None
    decode: Decode[Any] | None = field(default=None, repr=False)
    seq: Seq | None = None
    repeatable: bool = True
    accepts: tuple[int, ...] = ()

    @property
    def what(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def content(self) -> bytes | None:
        return None if self.body is None else encode(self.body)

    def knowing(self, seq: int) -> Request[A]:
        """The same request, to be answered with all events up to this position in the log.

        >>> ranked = Request("GET", "/v1/popular", lambda status, content: None, seq="query")
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


def pairs(values: Mapping[str, Any]) -> Pairs:
    """A query string: None is left out, lists are repeated.

    >>> pairs({"user": 7, "deny": ["a", "b"], "explain": True, "seq": None})
    (('user', '7'), ('deny', 'a'), ('deny', 'b'), ('explain', 'true'))
    """
    found: list[tuple[str, str]] = []
    for name, value in values.items():
        several = value if isinstance(value, (list, tuple)) else [value]
        texts = (str(one).lower() if isinstance(one, bool) else str(one) for one in several)
        found += [(name, text) for text in texts if value is not None]
    return tuple(found)


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


# -- methods


class Operation(Generic[P, A, B]):
    """The type of a method: of `Client` it gives an A, of `AsyncClient` a B.

    request: the request that it sends, from the same arguments.
    """

    request: Callable[P, Request[Any]]

    if TYPE_CHECKING:

        @typing.overload
        def __get__(self, client: None, owner: Any) -> Operation[P, A, B]: ...
        @typing.overload
        def __get__(self, client: Client, owner: Any) -> Callable[P, A]: ...
        @typing.overload
        def __get__(self, client: AsyncClient, owner: Any) -> Callable[P, B]: ...
        def __get__(self, client: Any, owner: Any) -> Any: ...


def operation(
    method: str,
    path: str,
    *,
    read: Callable[[int, bytes], Any] | None = None,
    prepare: Callable[[Json], Json] | None = None,
    **about: Any,
) -> Callable[[Callable[Concatenate[Any, P], A]], Operation[P, A, Coroutine[Any, Any, A]]]:
    """Makes a method of a signature: it sends its arguments by their names, as a query string (GET,
    DELETE) or as a JSON body. Empty defaults are left out.

    read: default: as the model that the signature returns. prepare: what is sent, from the
    arguments. about: further fields of `Request`.
    """

    def made(ask: Callable[..., Any]) -> Any:
        model = typing.get_type_hints(ask)["return"]
        reads = read or (lambda status, content: model.model_validate_json(content))
        signature, send = inspect.signature(ask), "_read" if "decode" in about else "_send"

        def request(*args: Any, **kwargs: Any) -> Request[Any]:
            ask(None, *args, **kwargs)  # a TypeError names the method
            values = _values(signature, signature.bind(None, *args, **kwargs))
            values = values if prepare is None else prepare(values)
            if method in ("GET", "DELETE"):
                return Request(method, path, reads, pairs(values), **about)
            return Request(method, path, reads, body=values, **about)

        @wraps(ask)
        def ours(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return getattr(self, send)(request(*args, **kwargs))

        vars(ours)["request"] = request
        return ours

    return made


def stream(
    path: str, decode: Decode[A]
) -> Callable[
    [Callable[Concatenate[Any, P], Iterator[A]]], Operation[P, Iterator[A], AsyncIterator[A]]
]:
    """Makes a method of a signature: it gives one piece of the answer after the other."""
    made: Callable[[Any], Any] = operation("GET", path, read=lambda *_: None, decode=decode)
    return made


def _values(signature: inspect.Signature, given: inspect.BoundArguments) -> Json:
    """Arguments by their names; sequences as lists, without empty defaults."""
    given.apply_defaults()
    (_, *values) = given.arguments.items()
    return {
        name: _plain(value)
        for name, value in values
        if value is not None and (value or value is not signature.parameters[name].default)
    }


def _plain(value: Any) -> Any:
    single = (str, bytes, Mapping, BaseModel)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, single) else value


# -- answers in pieces


def decoder(decode: Callable[[bytes], Iterable[A]]) -> Callable[[bytes], Iterator[A]]:
    r"""A function that takes pieces of an answer, at last b"", and gives what `decode` makes of its
    lines. Only a line feed ends a line (JSON may hold U+2028).

    >>> feed = decoder(lambda line: [line])
    >>> list(feed(b"a\r\nb")), list(feed(b"c\nd")), list(feed(b""))
    ([b'a'], [b'bc'], [b'd'])
    """
    open_line: list[bytes] = []

    def feed(piece: bytes) -> Iterator[A]:
        *complete, last = piece.split(b"\n")
        if complete:
            complete[0] = b"".join((*open_line, complete[0]))
            open_line.clear()
        open_line.append(last)
        if not piece and any(open_line):
            complete = [b"".join(open_line)]
        for line in complete:
            yield from decode(line.removesuffix(b"\r"))

    return feed


def json_line(line: bytes) -> Iterable[Json]:
    """A line of JSON; an empty one is nothing."""
    if line.strip():
        yield json.loads(line)


class LiveEvent(NamedTuple):
    """A server-sent event. data: its JSON, or its text."""

    event: str
    data: Any
    id: str | None = None


class ServerSentEvents:
    """Reads server-sent events line by line (the HTML standard, section 9.2.6).

    >>> read = ServerSentEvents()
    >>> lines = (b": hello", b"event: stats", b'data: {"rate":', b"data: 3}", b"")
    >>> [event for line in lines for event in read(line)]
    [LiveEvent(event='stats', data={'rate': 3}, id=None)]
    """

    def __init__(self) -> None:
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def __call__(self, line: bytes) -> Iterable[LiveEvent]:
        if not line:
            if self._data:
                data: Any = "\n".join(self._data)
                with suppress(ValueError):  # else it is plain text
                    data = json.loads(data)
                yield LiveEvent(self._event or "message", data, self._id)
            self._event, self._data = "", []
            return
        name, _, value = line.decode(errors="replace").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
