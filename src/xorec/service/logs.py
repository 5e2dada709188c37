"""Logs: lines on standard error; the access log, a JSON line a request, with no user, item or key.

A thread of its own writes the access log: a request only appends a tuple to a queue.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from xorec.core.errors import OptionError
from xorec.core.progress import logger
from xorec.service.http.exchange import Request


def log_to_stderr(level: str, worker: int = 0) -> None:
    """Log xorec to standard error, and the errors of asyncio.

    Replaces the handlers: a forked worker has those of its parent.
    """
    lines = logging.Formatter(
        f"%(asctime)sZ %(levelname)s w{worker} %(message)s", datefmt="%Y-%m-%dT%H:%M:%S"
    )
    lines.converter = time.gmtime
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(lines)
    logger.setLevel(level.upper())
    logger.handlers = [handler]
    other = logging.getLogger("asyncio")
    other.setLevel(logging.ERROR)
    other.handlers = [handler]
    other.propagate = False


_MOST_WAITING = 100_000
"""Entries in the queue; further ones are dropped and counted."""
_PAUSE = 0.2
_FIELDS = ("time", "request_id", "method", "path", "status", "took_us", "bytes", "client")
Entry = tuple[float, str, str, str, int, int, int, str]
"""One request: the values of _FIELDS, in order."""


class AccessLog:
    """Appends to a file, or to standard output ("-")."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._waiting: deque[Entry] = deque()
        self._dropped = 0
        self._ending = threading.Event()
        self._file = sys.stdout.buffer if target == "-" else _open_log(Path(target))
        self._thread = threading.Thread(target=self._run, name="access-log", daemon=True)
        self._thread.start()

    def add(self, request: Request, path: str, status: int, took_us: int, nbytes: int) -> None:
        """Queue a line. path: of the route, never what the client sent."""
        if len(self._waiting) >= _MOST_WAITING:
            self._dropped += 1
            return
        method = request.method if path != "unmatched" else "-"
        self._waiting.append(
            (time.time(), request.id, method, path, status, took_us, nbytes, request.client)
        )

    def close(self) -> None:
        self._ending.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._ending.wait(_PAUSE):
            self._write()
        self._write()
        if self._file is not sys.stdout.buffer:
            self._file.close()

    def _write(self) -> None:
        waiting, lines = self._waiting, []
        while waiting:
            lines.append(_json_line(waiting.popleft()))
        if self._dropped:
            lines.append(json.dumps({"dropped": self._dropped}))
            self._dropped = 0
        if lines:
            try:
                self._file.write(("\n".join(lines) + "\n").encode())
                self._file.flush()
            except OSError as error:
                logger.error("cannot write the access log %s: %s", self._target, error.strerror)


def _open_log(path: Path) -> BinaryIO:
    try:
        return path.open("ab")
    except OSError as error:
        raise OptionError(f"cannot write the access log {path}: {error.strerror}.") from None


def _json_line(entry: Entry) -> str:
    moment = datetime.fromtimestamp(entry[0], UTC).isoformat(timespec="milliseconds")
    when = moment.replace("+00:00", "Z")
    return json.dumps({**dict(zip(_FIELDS, entry, strict=True)), "time": when})
