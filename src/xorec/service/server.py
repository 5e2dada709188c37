"""The HTTP server of one worker: uvicorn's, with an end that drops nothing."""

from __future__ import annotations

import socket

from xorec.core.errors import OptionError
from xorec.service.config import Config

GRACE = 0.4
"""Seconds between "not ready" and the end of accepting: who comes meanwhile is told to close."""
FINISH = 7.0
"""Seconds for requests that are under way when the end has come."""
_BACKLOG = 2048


def listen(config: Config) -> socket.socket:
    """The socket that all workers accept from."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((config.host, config.port))
    except OSError as error:
        made.close()
        raise OptionError(
            f"cannot listen on {config.host} port {config.port}: {error.strerror}. Is it taken? "
            "--port chooses another, 0 any that is free."
        ) from None
    made.listen(_BACKLOG)
    made.setblocking(False)
    return made


def address(listening: socket.socket) -> str:
    """Where the service is, as people type it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
