"""A word while kernels compile: seconds without a sign of life look like a hang.

Imports nothing heavy: the command line says here whom to tell, `core.kernels` tells.
"""

from __future__ import annotations

from collections.abc import Callable

from xorec.core.log import logger

LINE = "compiling kernels for this machine: once after an install, for some seconds each"
_listeners: list[Callable[[str], None]] = []
_told = 0


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


def count() -> int:
    """How many functions this process has compiled: kernels, and what they call of numba's."""
    return _told
