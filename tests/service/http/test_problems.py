"""Errors as answers: when to come again, and where not to."""

from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.errors import DataError, UnknownIdError
from xorec.service.http.problems import HttpError, busy, problem_reply
from xorec.service.log.base import StorageFailed, StorageFull


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [
        (StorageFailed("the log cannot be written."), 503, True),
        (busy("come again."), 503, True),
        (StorageFull("the disk is full."), 507, False),
        (HttpError(409, "taken."), 409, False),
        (UnknownIdError("no user 7."), 404, False),
        (DataError("mend it."), 422, False),
        (OSError(Path("/a/secret")), 500, False),
    ],
)
def test_who_may_come_again_is_told_when(error: Exception, status: int, again: bool) -> None:
    reply = problem_reply(error, "r1")
    assert reply.status == status
    assert dict(reply.headers) == ({"retry-after": "1"} if again else {})
    assert b"secret" not in reply.body
