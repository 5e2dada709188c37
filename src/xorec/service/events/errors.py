"""What the storage of the log may answer, in words that name the file and the way out."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from xorec.core.errors import XorecError


class StorageFull(XorecError):  # noqa: N818 (what happened, as the status 507 says it)
    """No room for the log: nothing of the call was written. The service answers 507."""


class StorageFailed(XorecError):  # noqa: N818
    """The log cannot be written or read now: nothing of the call was written. Answered by 503."""


_FULL = {"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"}
_REASONS = {
    "SQLITE_BUSY": "another process holds it: end the program that writes to it",
    "SQLITE_LOCKED": "another process holds it: end the program that writes to it",
    "SQLITE_READONLY": "it may not be written to: give the service's user the right to write to "
    "the file and its folder",
    "SQLITE_PERM": "it may not be opened: give the service's user the right to read and write it",
    "SQLITE_CANTOPEN": "it cannot be opened: the folder must exist, and the service's user must "
    "have the right to write to it",
    "SQLITE_CORRUPT": "it is damaged: restore a snapshot, or move the file away to begin anew",
    "SQLITE_NOTADB": "it is no SQLite database: restore a snapshot, or move the file away to "
    "begin anew",
    "SQLITE_IOERR": "the disk does not answer as it should: look at the system's log",
}


def storage_error(path: Path, error: sqlite3.Error) -> StorageFull | StorageFailed:
    """SQLite's error in words.

    >>> storage_error(Path("events.db"), sqlite3.OperationalError("no such table: events"))
    StorageFailed('the event log events.db: no such table: events.')
    """
    name = getattr(error, "sqlite_errorname", None) or ""
    if name in _FULL:
        return StorageFull(
            f"no space left for the event log {path}: free some, the next write then succeeds."
        )
    known = next((reason for code, reason in _REASONS.items() if name.startswith(code)), None)
    return StorageFailed(f"the event log {path}: {known or error}.")
