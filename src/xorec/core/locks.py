"""One writer at a time: a lock file beside the file that is to be changed.

The lock is flock's on `.NAME.lock`; it ends with the process. Not fcntl's record locks: a process
loses those by closing the file anywhere, and they do not keep its threads apart. Not on NAME
itself: a rename replaces that. On a file system without locks the last writer wins.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from xorec.core import files, interrupts
from xorec.core.errors import XorecError

WAIT = 600.0
"""Seconds that a writer waits for another."""
_NOTE_AFTER, _PAUSE = 1.0, 0.02
_mine = threading.local()


@contextmanager
def locked(
    path: str | Path, wait: float = WAIT, note: Callable[[str], None] = lambda line: None
) -> Iterator[None]:
    """Keeps out all others that take the lock of the file at `path`.

    `Recommender.save` and `xorec update` take it. Hold it around a load, a change and a save;
    inside, it may be taken again. wait: seconds after which to give up. note: gets a line that says
    who holds it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(f"{folder}/m.xorec"):
    ...     os.listdir(folder)
    ['.m.xorec.lock']
    """
    path = Path(path)
    held: set[Path] = vars(_mine).setdefault("held", set())
    with ExitStack() as release:
        try:
            target = files.real_file(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            if target not in held and sys.platform != "win32":
                _wait_for(target, path, wait, note, release)
                held.add(target)
                release.callback(held.discard, target)
        except OSError as error:
            raise files.cannot_write(path, error) from None
        yield


def _wait_for(
    target: Path, path: Path, wait: float, note: Callable[[str], None], release: ExitStack
) -> None:
    """Take the lock when it is free. path: the user's name of the file."""
    lock = target.with_name(f".{target.name}.lock")
    began, noted = time.monotonic(), False
    while not _take(lock, release):
        waited = time.monotonic() - began
        if waited >= wait:
            raise XorecError(
                f"{_holder(lock)} is writing {path}, and {wait:g} seconds of waiting were not "
                "enough: nothing was changed. Run it again, or wait longer (update --wait SECONDS)."
            )
        if waited >= _NOTE_AFTER and not noted:
            note(f"waiting: {_holder(lock)} is writing {path}")
            noted = True
        time.sleep(_PAUSE)


def _take(lock: Path, release: ExitStack) -> bool:
    """Try to take the lock; `release` gives it back."""
    with interrupts.making, ExitStack() as undo:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        undo.callback(os.close, handle)
        if files.lock(handle) is False or not _is_there(lock, handle):
            return False
        _sign(handle)
        undo.enter_context(interrupts.removing(lock))
        undo.callback(_unlink, lock)
        release.push(undo.pop_all())
        return True


def _is_there(lock: Path, handle: int) -> bool:
    """Whether the locked file still has its name: its last holder may have removed it."""
    try:
        return os.path.samestat(lock.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _unlink(lock: Path) -> None:
    """Remove the file while the lock is held, so that others that wait see that it is gone."""
    with suppress(OSError):
        lock.unlink()


def _sign(handle: int) -> None:
    """Write who holds the lock, for others that wait; nothing on a full disk."""
    who = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%H:%M:%S")}
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(who).encode())


def _holder(lock: Path) -> str:
    """Who holds the lock, as far as the file says so."""
    try:
        with lock.open("rb") as file:
            who = json.loads(file.read(1000))
        host = "" if who["host"] == platform.node() else f" on {who['host']}"
        return f"process {int(who['pid'])}{host} (since {who['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
