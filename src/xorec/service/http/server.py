"""The end of listening, so that nobody is cut off who has been let in."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import uvicorn

from xorec.core.errors import OptionError
from xorec.service.config import Config
from xorec.service.http.app import App
from xorec.service.http.protocol import HttpProtocol, close_silent

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


GRACE = 0.4
"""Seconds between "not ready" and the end of accepting: who comes meanwhile is told to close."""
FINISH = 7.0
"""Seconds for requests that are under way when the end has come."""
_LET_IN, _SILENT = 0.1, 0.2
"""Seconds for those at the door, and of silence after which a connection is closed at the end."""
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


class HttpServer(uvicorn.Server):
    """Serves an app on a socket until `stop`. Signals are somebody else's."""

    def __init__(self, app: App, config: Config) -> None:
        self._app = app
        self._limits = config.limits
        settings = uvicorn.Config(
            app,
            loop="uvloop",
            http=HttpProtocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=int(max(1, config.limits.idle_seconds)),
        )
        super().__init__(settings)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        """Not ready from now on; what runs is finished."""
        self._app.health.state = "stopping"
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        self._app.sample()
        if counter % 10 == 0:
            limits = self._limits
            close_silent(self.server_state.connections, limits.idle_seconds, limits.body_seconds)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer who still comes and tell them to close, then stop accepting, then finish.

        Streams without an end are ended. Whatever is not done after `FINISH` seconds is cut off.
        """
        self._app.end_streams()
        await asyncio.sleep(GRACE)
        for one in sockets or ():
            refuse_new(one)
        await asyncio.sleep(_LET_IN)
        for server in self.servers:
            server.close()
        try:
            async with asyncio.timeout(FINISH):
                while self.server_state.connections or self._app.running:
                    self._close_idle()
                    await asyncio.sleep(0.02)
        except TimeoutError:
            for task in list(self.server_state.tasks):
                task.cancel()
            for connection in list(self.server_state.connections):
                connection.transport.abort()

    def _close_idle(self) -> None:
        """Close connections that are silent; others are told to close with their next reply."""
        connections: list[Any] = list(self.server_state.connections)
        for connection in connections:
            cycle, silent = connection.cycle, connection.loop.time() - connection.silent_since
            idle = cycle is None or cycle.response_complete
            if idle and silent > _SILENT and not has_sent(connection.transport):
                connection.transport.close()
