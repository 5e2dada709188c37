"""Ctrl-C, `kill` and a closed terminal end a command at once, and leave nothing behind.

Python raises an exception in the main thread, wherever it is: inside an import, a finaliser or a
callback, and late or never inside compiled code. So the command line (`listen`) blocks these
signals in all threads but one, which waits for them, removes temporary files, prints a line and
ends the process. In the library, Ctrl-C is Python's KeyboardInterrupt.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock, Thread
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
making = RLock()
"""Held while a temporary file is made: none is made once the process is ending."""
_first = Lock()
_temporary: set[Path] = set()
_hints: list[Callable[[], str]] = []


def listen() -> None:
    """Answer the signals in a thread of their own, except those that this process ignores.

    Call it in the main thread before others start: they inherit the blocked signals.
    """
    if not hasattr(signal, "sigwait"):
        return  # not on Windows: Ctrl-C stays a KeyboardInterrupt there
    heard = {number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    for number in heard:
        signal.signal(number, _end)  # an older thread may let it through
    try:
        Thread(target=_wait, args=(heard,), name="signals", daemon=True).start()
    except RuntimeError:  # no memory for a thread
        forget()


def forget() -> None:
    """The work is done: from now on a signal ends the process without a message."""
    if hasattr(signal, "sigwait"):
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


@contextmanager
def removing(path: Path) -> Iterator[None]:
    """A signal inside the block removes `path`, a file or a folder, if it is there."""
    _temporary.add(path)
    try:
        yield
    finally:
        _temporary.discard(path)


@contextmanager
def interrupt_hint(hint: Callable[[], str]) -> Iterator[None]:
    """A message for a user who interrupts the block: how to go on."""
    _hints.append(hint)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(hint()) from None
    finally:
        _hints.pop()


def _wait(heard: set[signal.Signals]) -> None:
    _end(signal.sigwait(heard))


def _end(number: int, frame: FrameType | None = None) -> None:
    if not _first.acquire(blocking=False):
        return  # a second press, while we tidy up
    try:
        making.acquire(timeout=1)  # never released; a disk that hangs does not keep us
        hint = _hints[-1]() if _hints else ""
        _remove()
        _say(f"interrupted. {hint}".strip())
        _remove()  # a compiled writer may have opened its file once more
    finally:
        os._exit(128 + number)


def _remove() -> None:
    for path in list(_temporary):
        with suppress(OSError):
            path.unlink()
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


def _say(line: str) -> None:
    """On standard error without its buffer, which the main thread may hold."""
    clear = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # the bar's line, and the cursor it hid
    os.write(2, f"{clear}{line}\n".encode())
