"""A word while kernels compile: seconds without a sign of life look like a hang; and a clock.

Imports nothing heavy: the command line says here whom to tell, `core.kernels` tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from xorec.core.log import logger

LINE = "compiling kernels: once for each kind of model (ahead: xorec doctor --compile)"
_listeners: list[Callable[[str], None]] = []
_told = 0
_depth, _began, _seconds = 0, 0.0, 0.0
"""Compilations that this one is inside of; when the outermost began; what those before took."""


def listen(note: Callable[[str], None]) -> None:
    """Tell `note`, once, when a kernel has to be compiled."""
    _listeners.append(note)


def tell() -> None:
    """A kernel is about to be compiled."""
    global _told
    _told += 1
    logger.debug(LINE, extra={"event": "compile"})
    while _listeners:
        _listeners.pop()(LINE)


def begin() -> None:
    """numba begins to compile a function, perhaps inside of another: it lets in one thread."""
    global _depth, _began
    if _depth == 0:
        _began = time.monotonic()
    _depth += 1
    tell()


def end() -> None:
    """numba has compiled a function, or failed to."""
    global _depth, _seconds
    _depth -= 1
    if _depth == 0:
        _seconds += time.monotonic() - _began


def clock() -> float:
    """`time.monotonic`, but it stands still while kernels compile: for budgets of work.

    A first run after an install gets as much done within its minutes as later ones.
    """
    return (_began if _depth else time.monotonic()) - _seconds


def count() -> int:
    """How many functions this process has compiled: kernels, and what they call of numba's."""
    return _told
