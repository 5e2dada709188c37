"""Errors as answers: problem+json (RFC 9457) with one line that names the value and the way out."""

from __future__ import annotations

import http
import json

from pydantic import BaseModel, ValidationError

from xorec.core.errors import DataError, OptionError, UnknownIdError, XorecError
from xorec.core.printable import printable
from xorec.service.events.errors import StorageFailed, StorageFull
from xorec.service.http.exchange import Headers, Reply
from xorec.service.http.messages import validation_line
from xorec.service.schemas.base import Problem

MEDIA_TYPE = b"application/problem+json"
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnknownIdError, 404),
    (DataError, 422),
    (OptionError, 422),
    (StorageFull, 507),
    (StorageFailed, 503),
)
_COME_AGAIN: Headers = ((b"retry-after", b"1"),)
_HERE = "<the id of the request>"


class HttpError(XorecError):
    """An error with a status. at: the place in a list of the first that is wrong."""

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
    """The reply for an error; of one that nobody expected the client learns its id alone."""
    status = status_of(error)
    if status == 500 and not isinstance(error, XorecError):
        detail = "the service failed: its log has more under this request_id."
    else:
        detail = " ".join(printable(str(error), lines=True).split())
    headers: Headers = getattr(error, "headers", _COME_AGAIN if status == 503 else ())
    return problem(status, detail, request_id, getattr(error, "at", None), headers)


def problem(
    status: int, detail: str, request_id: str, at: int | None = None, headers: Headers = ()
) -> Reply:
    """A problem as a reply."""
    shape = Problem(
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        request_id=request_id,
        at=at,
    )
    body = Problem.__pydantic_serializer__.to_json(shape)
    return Reply(status, body, MEDIA_TYPE, headers)


class Refusal:
    """One error, rendered once: whoever is one too many costs little more than reading him.

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
