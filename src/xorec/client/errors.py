"""What a client raises: one family, with the status and the service's own line."""

from __future__ import annotations

from pydantic import ValidationError

from xorec.core.errors import XorecError
from xorec.service.api.base import Problem

SHOWN = 200
"""Characters of an answer that is no problem of ours (a proxy's page, say)."""


class ClientError(XorecError):
    """A request that was not answered as hoped.

    status: of HTTP; 0 where no answer came. detail: the service's line. at: the place of the
    first bad one in a list. request_id: to find the request in the service's log.

    >>> error = ClientError("POST /v1/events", 507, "the disk is full.")
    >>> error.status, str(error)
    (507, 'POST /v1/events: 507, the disk is full.')
    """

    def __init__(
        self, what: str, status: int, detail: str, request_id: str = "", at: int | None = None
    ) -> None:
        super().__init__(f"{what}: {status}, {detail}" if status else f"{what}: {detail}")
        self.status, self.detail = status, detail
        self.request_id, self.at = request_id, at


class UnreachableError(ClientError):
    """No answer came: nobody listens, the connection broke, or it took too long.

    >>> str(UnreachableError("GET /livez", 0, "nobody listens at http://127.0.0.1:1."))
    'GET /livez: nobody listens at http://127.0.0.1:1.'
    """


def error_of(what: str, status: int, content: bytes) -> ClientError:
    """The error that an answer means.

    >>> body = b'{"title": "Bad Request", "status": 400, "detail": "k is 0.", "at": 3}'
    >>> error = error_of("GET /v1/recommend", 400, body)
    >>> error.detail, error.at
    ('k is 0.', 3)
    >>> error_of("GET /v1/stats", 502, b"<html>").detail
    '<html>'
    """
    try:
        problem = Problem.model_validate_json(content)
    except ValidationError:
        text = content[: 4 * SHOWN].decode(errors="replace")[:SHOWN]
        return ClientError(what, status, text or "an answer without a body.")
    return ClientError(what, status, problem.detail, problem.request_id, problem.at)
