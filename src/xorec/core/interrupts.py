"""Ctrl-C that cannot get lost.

Python raises KeyboardInterrupt wherever it happens to be. Inside a finaliser or a callback from
compiled code the exception is printed and dropped, or comes out as another one. So the press is
also remembered: whatever comes out after it counts as the interrupt, and the next step of any
progress bar raises it again.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_pressed = False


def listen() -> None:
    """Remember Ctrl-C from now on (unless this process was told to ignore it)."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _press)


def pressed() -> bool:
    """Whether Ctrl-C was pressed since `listen`."""
    return _pressed


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed: for loops, at a place that is safe to stop."""
    if _pressed:
        raise KeyboardInterrupt


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
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or pressed():
            raise KeyboardInterrupt(hint()) from None
        raise


def _press(signal_number: int, frame: FrameType | None) -> NoReturn:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt
