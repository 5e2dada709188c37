"""Fetch one file over HTTP: again after a failure, on from where it stopped, verified."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xorec.core.errors import DataError
from xorec.core.progress import SILENT, Progress
from xorec.data.datasets.transfer import Fetched, Transfer, TransientError

LONGEST_PAUSE = 30.0


def fetch(
    url: str,
    destination: Path,
    *,
    checksum: str | None = None,
    size: int | None = None,
    progress: Progress = SILENT,
    attempts: int = 5,
    timeout: float = 30.0,
    pause: float = 1.0,
) -> Fetched:
    """Fetch `url` into the file `destination`.

    checksum: "sha256:..." or "md5:..." (any algorithm of hashlib) that the file must have.
    size: the bytes that it must have.
    attempts: failures in a row, with nothing gained, before giving up; `pause` seconds after the
        first and twice as long after each further one. `timeout`: seconds without a byte.
    """
    transfer = Transfer(url, destination, checksum, size, timeout)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(destination.parent):
            _insist(transfer, progress, attempts, pause)
            return transfer.finish()
    except OSError as error:  # of the disk: those of the network are transient errors by now
        raise _disk_error(error, transfer.part) from error


def _insist(transfer: Transfer, progress: Progress, attempts: int, pause: float) -> None:
    """Receive until the file is whole and right, or until `attempts` in a row gained nothing."""
    failures = 0
    while True:
        before = transfer.held
        try:
            transfer.receive(progress)
            if transfer.is_right():
                return
        except TransientError as trouble:
            failures = 1 if transfer.held > before else failures + 1
            if failures >= attempts:
                raise DataError(f"{transfer.url}: {trouble}. {transfer.way_out()}") from None
            progress.note(f"{trouble}; trying again")
            time.sleep(min(pause * 2 ** (failures - 1), LONGEST_PAUSE))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second xorec from writing the same files (where the platform has flock)."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DataError(f"{folder}: another xorec is fetching into it. Wait for it.") from None
    finally:
        os.close(handle)


def _disk_error(error: OSError, path: Path) -> DataError:
    if error.errno == errno.ENOSPC:
        return DataError(
            f"{path}: the disk is full. Make room and run it again: what has arrived is kept. "
            "Or set XOREC_DATA to a folder on another disk."
        )
    return DataError(
        f"{path}: cannot be written ({error.strerror}). Set XOREC_DATA to a folder of yours."
    )
