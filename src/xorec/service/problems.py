"""Errors as answers: problem+json (RFC 9457) with one line that names the value and the way out."""

from __future__ import annotations

import http
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from xorec.core.errors import DataError, OptionError, UnknownIdError, XorecError
from xorec.core.printable import printable, quoted
from xorec.core.suggestions import did_you_mean
from xorec.service.messages import Headers, Reply
from xorec.service.schemas.base import Problem

MEDIA_TYPE = b"application/problem+json"
_STATUS = ((UnknownIdError, 404), (DataError, 422), (OptionError, 422))
_TAG = re.compile(r"(int|str|float|bool|datetime|date|dict|none|.*[\[\]()-].*)")


class HttpError(XorecError):
    """An error with a status. at: the place in a list of the first that is wrong."""

    def __init__(
        self, status: int, message: object, *, at: int | None = None, headers: Headers = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.at = at
        self.headers = headers


def busy(message: str, seconds: int = 1) -> HttpError:
    """503: come again in so many seconds."""
    return HttpError(503, message, headers=((b"retry-after", b"%d" % seconds),))


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
    return problem(
        status, detail, request_id, getattr(error, "at", None), getattr(error, "headers", ())
    )


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


def http_error_of(error: ValidationError, model: Any, where: str) -> HttpError:
    """One line for what pydantic refused in `where`: "the query", "the body"."""
    errors = error.errors(include_url=False, include_context=False)
    if errors[0]["type"] == "json_invalid":
        reason = errors[0]["msg"].removeprefix("Invalid JSON: ")
        return HttpError(400, f"{where} is no JSON: {reason}.")
    return HttpError(422, validation_line(errors, model, where))


def validation_line(errors: Sequence[Any], model: Any, where: str) -> str:
    """The first error in one line, with all that a union says of the same value."""
    first = errors[0]
    place = _place(first["loc"])
    name = ".".join(str(part) for part in place) or where
    if first["type"] == "extra_forbidden":
        known = _names(model, place)
        hint = did_you_mean(str(place[-1]), known) if place else ""
        wanted = f" its names are {', '.join(known)}." if known and not hint else hint
        return f"{where} has no {quoted(name)}:{wanted}" if wanted else f"{where} has no {name!r}."
    if first["type"] == "missing":
        return f"{name!r} is missing in {where}: give it."
    same = [one["msg"] for one in errors if _place(one["loc"]) == place]
    wishes = " or ".join(dict.fromkeys(map(_wish, same)))
    return f"{name} is {quoted(first['input'])}: {wishes}."


def _place(loc: Iterable[Any]) -> tuple[Any, ...]:
    """Where a value stands, without the names that pydantic gives to the members of a union."""
    return tuple(part for part in loc if not (isinstance(part, str) and _TAG.fullmatch(part)))


def _wish(message: str) -> str:
    text = message.removeprefix("Value error, ").rstrip(".")
    text = text.removeprefix("Input should be ")
    return text if text != message.rstrip(".") else text[:1].lower() + text[1:]


def _names(model: Any, place: Sequence[Any]) -> list[str]:
    """Names that stand at the top of a body or a query."""
    if len(place) != 1 or not (isinstance(model, type) and issubclass(model, BaseModel)):
        return []
    return [field.alias or name for name, field in model.model_fields.items()]
