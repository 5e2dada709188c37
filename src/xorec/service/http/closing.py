"""The end of listening, so that nobody is cut off who has been let in."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)
"""A program of one instruction for the system's packet filter: return 0, keep nothing."""


def refuse_new(listening: socket.socket) -> None:
    """Nobody new comes in, and who waits at the door can still be let in.

    Closing the socket would reset those: so packets to it are dropped first (Linux), and a client
    that tries meanwhile tries again, and is refused when the socket is closed.
    """
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(_DROP_ALL)
        with suppress(OSError):
            listening.setsockopt(
                socket.SOL_SOCKET,
                _ATTACH_FILTER,
                struct.pack("HL", 1, ctypes.addressof(program)),
            )


def has_sent(transport: Any) -> bool:
    """Whether a client has sent something that was not read yet."""
    handle = transport.get_extra_info("socket")
    try:
        with socket.socket(fileno=os.dup(handle.fileno())) as copy:
            return bool(copy.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False
