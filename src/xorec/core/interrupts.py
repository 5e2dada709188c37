"""Ctrl-C, `kill` and a closed terminal end a command at once, and leave nothing behind.

Python answers a signal with an exception, wherever the main thread happens to be: as a traceback
out of an import or a finaliser, as another error out of a callback, late where compiled code runs,
or not at all. So the command line (`listen`) keeps these signals from every thread but one. That
one waits for them, removes what is temporary, says a line and ends the process. In the library,
Ctrl-C is Python's KeyboardInterrupt, as ever.
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
"""Hold it while you make what is temporary: nothing is made once the process is ending."""
_first = Lock()
_temporary: set[Path] = set()
_hints: list[Callable[[], str]] = []


def listen() -> None:
    """Answer the signals in a thread of their own, but those that this process is to ignore.

    Call it in the main thread, before there are others: they inherit what is kept from it.
    """
    if not hasattr(signal, "sigwait"):
        return  # not on Windows: Ctrl-C stays a KeyboardInterrupt there
    heard = {number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    for number in heard:
        signal.signal(number, _end)  # where a thread was there before, and lets it through
    try:
        Thread(target=_wait, args=(heard,), name="signals", daemon=True).start()
    except RuntimeError:  # no memory for a thread: the system's answer is quiet, too
        forget()


def forget() -> None:
    """The work is done: from now on a signal ends the process by itself, without a word."""
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
    """What to tell a user who interrupts the block: how to go on.

    >>> try:
    ...     with interrupt_hint(lambda: "Run it again with --resume."):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as interrupt:
    ...     print(interrupt)
    Run it again with --resume.
    """
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
        making.acquire(timeout=1)  # and never let go; a disk that hangs does not keep us
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
    """On standard error, past its buffer: the main thread may hold that."""
    clear = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # the bar's line, and the cursor it hid
    os.write(2, f"{clear}{line}\n".encode())
