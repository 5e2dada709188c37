"""What can go wrong in the service besides what can go wrong in the library."""

from __future__ import annotations

from xorec.core.errors import XorecError


class NotYetError(XorecError):
    """An event that this worker does not know yet (503): ask again."""


class NotReadyError(XorecError):
    """The service is starting or stopping, or its writer is away (503)."""


class BadEventError(XorecError):
    """An event or item of a list that cannot be taken (422). at: its place in the list."""

    def __init__(self, message: str, at: int | None) -> None:
        super().__init__(message)
        self.at = at
