"""What pydantic refuses, in one line that names the field, the value and the way out."""

from __future__ import annotations

import http
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from xorec.core.errors import DataError, OptionError, UnknownIdError, XorecError
from xorec.core.printable import did_you_mean, printable, quoted
from xorec.service.api.base import Problem
from xorec.service.http.exchange import Headers, Reply
from xorec.service.live.state import NotReadyError
from xorec.service.log.base import StorageFailed, StorageFull

_TAG = re.compile(r"int|str|float|bool|datetime|date|dict|none|.*[\[\]()-].*", re.DOTALL)
_BEGINS = ("Value error, ", "Input should be ")


def validation_line(
    error: ValidationError, model: type[BaseModel] | None = None, where: str = "the body"
) -> str:
    """The first thing that is wrong, with all that a union says of the same value.

    model: what was to be filled, for a hint where a name is unknown.

    >>> from xorec.service.api.list_request import RecommendBody
    >>> try:
    ...     RecommendBody.model_validate_json('{"k": "ten"}')
    ... except ValidationError as error:
    ...     print(validation_line(error))
    k is 'ten': give a valid integer.
    """
    errors = error.errors(include_url=False, include_context=False)
    first = errors[0]
    loc = _location(first["loc"])
    name = ".".join(str(part) for part in loc) or where
    if first["type"] == "extra_forbidden":
        return f"{where} has a name {quoted(name)} that it should not have.{_name_hint(model, loc)}"
    if first["type"] == "missing":
        return f"{quoted(name)} is missing in {where}: give it."
    same = [one["msg"] for one in errors if _location(one["loc"]) == loc]
    wishes = " or ".join(dict.fromkeys(map(_wish, same)))
    verb = "give " if first["msg"].startswith(_BEGINS[1]) else ""
    return f"{quoted(name)[1:-1]} is {quoted(first['input'])}: {verb}{wishes}."


def _location(loc: Iterable[Any]) -> tuple[Any, ...]:
    """Where a value stands, without the names that pydantic gives to the members of a union."""
    parts = list(loc)
    kept = [part for part in parts[1:] if not (isinstance(part, str) and _TAG.fullmatch(part))]
    return (*parts[:1], *kept)


def _wish(message: str) -> str:
    for begin in _BEGINS:
        if message.startswith(begin):
            return message.removeprefix(begin).rstrip(".")
    return message[:1].lower() + message[1:].rstrip(".")


def _name_hint(model: type[BaseModel] | None, loc: Sequence[Any]) -> str:
    if model is None or len(loc) != 1:
        return ""
    names = [field.alias or name for name, field in model.model_fields.items()]
    return did_you_mean(str(loc[0]), names) or f" Its names: {', '.join(names)}."


MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnknownIdError, 404),
    (DataError, 422),
    (OptionError, 422),
    (StorageFull, 507),
    (StorageFailed, 503),
    (NotReadyError, 503),
)
_COME_AGAIN: Headers = (("retry-after", "1"),)
_HERE = "<the id of the request>"


class HttpError(XorecError):
    """An error with a status. at: the index in a list of the first that is wrong."""

    def __init__(
        self, status: int, message: object, *, at: int | None = None, headers: Headers = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.at = at
        self.headers = headers


def busy(message: str) -> HttpError:
    """503: come again in a second."""
    return HttpError(503, message, headers=_COME_AGAIN)


def status_of(error: Exception) -> int:
    """The status of an error: its own (`status`), that of its class, or 500.

    >>> status_of(UnknownIdError("no user 7.")), status_of(HttpError(409, "taken."))
    (404, 409)
    >>> status_of(OSError())
    500
    """
    own = getattr(error, "status", None)
    if isinstance(error, XorecError) and isinstance(own, int):
        return own
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_reply(error: Exception, request_id: str) -> Reply:
    """The reply for an error; of an unexpected one the client only learns the request id."""
    status = status_of(error)
    if status == 500 and not isinstance(error, XorecError):
        detail = "the service failed: its log has more under this request_id."
    else:
        detail = " ".join(printable(str(error), lines=True).split())
    problem = Problem(
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        request_id=request_id,
        at=getattr(error, "at", None),
    )
    headers: Headers = getattr(error, "headers", _COME_AGAIN if status == 503 else ())
    body = Problem.__pydantic_serializer__.to_json(problem)
    return Reply(status, body, MEDIA_TYPE, headers)


class Refusal:
    """One error, rendered once, so that rejecting a request is cheap.

    >>> Refusal(busy("come again.")).reply('a"b') == problem_reply(busy("come again."), 'a"b')
    True
    """

    def __init__(self, error: HttpError) -> None:
        whole = problem_reply(error, _HERE)
        self._status, self._headers = whole.status, whole.headers
        self._before, _, self._after = whole.body.partition(json.dumps(_HERE).encode())

    def reply(self, request_id: str) -> Reply:
        """The same as `problem_reply` gives."""
        body = self._before + json.dumps(request_id).encode() + self._after
        return Reply(self._status, body, MEDIA_TYPE, self._headers)


def http_error_of(error: ValidationError, model: type[BaseModel], where: str) -> HttpError:
    """What pydantic refused in `where`: 400 where it is no JSON at all, else 422."""
    first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return HttpError(400, f"{where} is no JSON: {first['msg'].removeprefix('Invalid JSON: ')}.")
    return HttpError(422, validation_line(error, model, where))
