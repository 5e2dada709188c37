"""Downloads over HTTP: resumed where the server allows it, checked, put in place when whole.

What has arrived lives in `NAME.part`, with the server's validator (ETag or date) beside it in
`NAME.part.tag`. A transfer goes on from there if the server still has the same file and can send
the rest; otherwise it starts again. `NAME` itself appears by a rename at the end.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import re
import shutil
import socket
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

from xorec.core.errors import DataError
from xorec.core.files import lock, put_in_place, write_text
from xorec.core.progress import SILENT, Progress, Task

CHUNK = 1 << 17
LONGEST_PAUSE = 30.0
_TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}
_DROPPED = (OSError, http.client.HTTPException)


class TransientError(Exception):
    """A failure that may pass; the message says what happened."""


class Transfer:
    """One download: `receive` until the file is whole, ask `is_right`, then `finish`."""

    def __init__(
        self, url: str, destination: Path, checksum: str | None, size: int | None, timeout: float
    ) -> None:
        self.url, self.destination, self.size, self.timeout = url, destination, size, timeout
        self.expected, self.sha256 = (checksum or "").removeprefix("sha256:"), ""
        self.part = destination.with_name(destination.name + ".part")
        self.tag = destination.with_name(destination.name + ".part.tag")
        self.resumed = self.restarted = False

    @property
    def held(self) -> int:
        """The bytes that have arrived."""
        return self.part.stat().st_size if self.part.exists() else 0

    def receive(self, progress: Progress) -> None:
        """Ask for what is missing and append it; a file that changed starts again."""
        validator = self.tag.read_text() if self.tag.exists() else ""
        start = self.held if validator else 0
        headers = {"Range": f"bytes={start}-", "If-Range": validator} if start else {}
        request = urllib.request.Request(self.url, headers=headers)
        try:
            response = urllib.request.urlopen(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error, start)
            return
        except _DROPPED as error:
            raise _network_error(error, self.url) from error
        with response:
            start, total = self._range_of(response.status, response.headers, start)
            with progress.task(self.destination.name, total) as task:
                task.advance(start)
                self._append(response, start, task)
        if total is not None and self.held < total:
            raise TransientError(f"the connection ended at {self.held:,} of {total:,} bytes")

    def _range_of(self, status: int, headers: Message, start: int) -> tuple[int, int | None]:
        """(first byte of the answer, bytes of the whole file if the server tells)."""
        total = int(headers["Content-Length"]) if headers["Content-Length"] else None
        sent = re.match(r"bytes (\d+)-\d+/(\d+)", headers["Content-Range"] or "")
        if status != 206:
            start = 0
        elif sent and int(sent[1]) == start:
            total, self.resumed = int(sent[2]), True
        else:
            self.discard()
            raise TransientError(f"the server sent {headers['Content-Range']}, not {start}-")
        if self.size is not None and total is not None and total != self.size:
            self.discard()
            raise DataError(
                f"{self.url} has {total:,} bytes and not {self.size:,}: it is not the file that "
                "this version of xorec knows. See whether there is a newer xorec."
            )
        free, needed = shutil.disk_usage(self.destination.parent).free, (total or 0) - start
        if free < needed:
            raise DataError(
                f"{self.destination}: {needed / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB "
                "are free. Make room, or set XOREC_DATA to a folder on another disk."
            )
        if start == 0:
            self.discard()
            etag = headers["ETag"] or ""
            strong = "" if etag.startswith("W/") else etag
            write_text(self.tag, strong or headers["Last-Modified"] or "")
        return start, total

    def _append(self, response: http.client.HTTPResponse, start: int, task: Task) -> None:
        """Write what arrives behind byte `start`, unbuffered: an interrupt loses nothing."""
        with self.part.open("ab" if start else "wb", buffering=0) as file:
            while True:
                try:
                    chunk = response.read1(CHUNK)
                except _DROPPED as error:
                    raise _network_error(error, self.url) from error
                if not chunk:
                    return
                left = memoryview(chunk)
                while left:
                    left = left[file.write(left) or 0 :]
                task.advance(len(chunk))

    def _refused(self, error: urllib.error.HTTPError, start: int) -> None:
        """A status that is an error: nothing is missing, worth another attempt, or final."""
        if error.code == 416 and error.headers["Content-Range"] == f"bytes */{start}":
            self.resumed = True
            return
        if error.code == 416:
            self.discard()
            raise TransientError("the file on the server is another one now")
        if error.code in _TRANSIENT_STATUS:
            raise TransientError(f"the server answered {error.code} {error.reason}")
        raise DataError(
            f"{self.url}: the server answered {error.code} {error.reason}. "
            "The file may have moved: see whether there is a newer xorec."
        )

    def is_right(self) -> bool:
        """Whether this is the file that was asked for; a wrong one is removed.

        One that was put together from two runs gets one fresh start; any other is an error.
        """
        with self.part.open("rb") as file:
            self.sha256 = found = hashlib.file_digest(file, "sha256").hexdigest()
        size = self.held
        if self.expected in ("", found) and self.size in (None, size):
            return True
        fresh_start = self.resumed and not self.restarted
        self.discard()
        if fresh_start:
            self.restarted = True
            return False
        wanted = f"sha256 {self.expected}" if self.expected else f"{self.size:,} bytes"
        raise DataError(
            f"{self.url}: expected {wanted}, found sha256 {found} in {size:,} bytes. "
            "The bad file was removed; try again later or from another network."
        )

    def finish(self) -> None:
        """Give the file its name."""
        put_in_place(self.part, self.destination)
        self.tag.unlink(missing_ok=True)

    def discard(self) -> None:
        """Forget what has arrived."""
        self.part.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)
        self.resumed = False


def _network_error(error: Exception, url: str) -> Exception:
    """A failure of the network in words: an unknown name or a bad certificate is final."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    host = urllib.request.Request(url).host
    if isinstance(reason, ssl.SSLCertVerificationError):
        return DataError(f"{url}: {host} has no valid certificate ({reason.verify_message}).")
    if isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_NONAME:
        return DataError(f"{url}: {host} cannot be found. Is there a network, or an http_proxy?")
    if isinstance(reason, socket.gaierror):
        return TransientError(f"{host} cannot be found now")
    if isinstance(reason, TimeoutError):
        return TransientError(f"{host} did not answer in time")
    return TransientError(f"the connection to {host} failed ({reason})")


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
) -> str:
    """Fetch `url` into the file `destination`; its SHA-256.

    checksum: "sha256:..." that the file must have; None: any. size: the bytes that it must have.
    attempts: failures in a row, with nothing gained, before giving up; `pause` seconds after the
        first and twice as long after each further one. `timeout`: seconds without a byte.
    """
    transfer = Transfer(url, destination, checksum, size, timeout)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _alone_in(destination.parent):
            _receive_all(transfer, progress, attempts, pause)
            transfer.finish()
            return transfer.sha256
    except OSError as error:  # of the disk: those of the network are transient errors by now
        what = f"cannot be written ({error.strerror}). Set XOREC_DATA to a folder of yours."
        if error.errno == errno.ENOSPC:
            what = (
                "the disk is full. Make room and run it again: what has arrived is kept. "
                "Or set XOREC_DATA to a folder on another disk."
            )
        raise DataError(f"{transfer.part}: {what}") from error


def _receive_all(transfer: Transfer, progress: Progress, attempts: int, pause: float) -> None:
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
                way_out = "Check the network (and http_proxy) and run it again."
                if transfer.held:
                    way_out = f"Run it again later: it goes on from byte {transfer.held:,}."
                raise DataError(f"{transfer.url}: {trouble}. {way_out}") from None
            progress.note(f"{trouble}; trying again")
            time.sleep(min(pause * 2 ** (failures - 1), LONGEST_PAUSE))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second xorec from writing the same files (where the platform has flock)."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if lock(handle) is False:
            raise DataError(f"{folder}: another xorec is fetching into it. Wait for it.")
        yield
    finally:
        os.close(handle)
