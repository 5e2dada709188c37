"""The server of a worker: granian on the service's port, and its graceful end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server

from xorec.core.errors import OptionError
from xorec.service.config import Config
from xorec.service.http.app import App

GRACE = 0.4
"""Seconds between "not ready" and the end of accepting: who comes meanwhile is told to close."""
FINISH = 7.0
"""Seconds for requests that are under way when the end has come."""
_LET_IN = 0.2
"""Seconds for the requests of those who came last."""
_SETTLE = 0.02
"""Seconds in which those who were just answered have connected again."""
_BACKLOG = 2048
_CONNECTIONS = 16_384
"""Open connections of a worker: above, new ones wait in the backlog."""
_TICK = 0.1


@contextmanager
def reserve(config: Config) -> Iterator[tuple[str, int]]:
    """Host and port of the service, which no other service can take meanwhile.

    The socket of the reservation never listens: each worker listens with one of its own
    (SO_REUSEPORT), and the system deals the connections out.
    """
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe, socket.socket(family) as held:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((config.host, config.port))
            probe.listen()  # also refused where another one is bound, but does not listen
            host, port = probe.getsockname()[:2]
            probe.close()
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            held.bind((host, port))
        except OSError as error:
            raise OptionError(
                f"cannot listen on {config.host} port {config.port}: {error.strerror}. Is it "
                "taken? --port chooses another, 0 any that is free."
            ) from None
        yield host, port


def address(where: tuple[str, int]) -> str:
    """Where the service is, as people type it."""
    host, port = where
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def stop_listening(where: tuple[str, int]) -> None:
    """Accept no new connections on Linux; open ones can still be answered.

    The server would close what it has accepted and not read yet together with the port. So its
    descriptors are given a socket that never has a connection: shut down, they would be polled
    without a pause. Call it in the loop: while that stands still no client is answered and comes
    again, so those who wait to be accepted are soon all in.
    """
    time.sleep(_SETTLE)
    with socket.socket() as idle:
        for name in os.listdir("/proc/self/fd") if sys.platform == "linux" else ():
            with suppress(OSError):  # no socket, or closed meanwhile
                if _listens(int(name), where):
                    os.dup2(idle.fileno(), int(name), inheritable=False)


def _listens(descriptor: int, where: tuple[str, int]) -> bool:
    """Whether it is a listening socket of ours, from which nobody waits to be accepted any more."""
    one = socket.socket(fileno=descriptor)
    try:
        if not one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            return False
        if one.getsockname()[:2] != where:
            return False
        end = time.monotonic() + _LET_IN
        while _waiting(one) and time.monotonic() < end:
            time.sleep(0.001)
        return True
    finally:
        one.detach()


def _waiting(listening: socket.socket) -> int:
    """Connections that were made and not accepted yet: tcpi_unacked of a listening socket."""
    info = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 28)
    return int.from_bytes(info[24:28], sys.byteorder)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Gives the signals back that are taken over in the block."""
    taken = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in taken}
    yield
    if threading.current_thread() is threading.main_thread():
        for number, handler in before.items():
            signal.signal(number, handler)


class HttpServer:
    """Serves an app on a host and a port until `stop`. Signals are its caller's."""

    def __init__(self, app: App, config: Config, where: tuple[str, int]) -> None:
        self._app, self._where = app, where
        idle = max(1, round(config.limits.idle_seconds * 1000))
        host, port = where
        self._server = Server(
            app,
            address=host,
            port=port,
            interface=Interfaces.RSGI,
            http=HTTPModes.http1,
            websockets=False,
            backlog=_BACKLOG,
            backpressure=_CONNECTIONS,
            http1_settings=HTTP1Settings(header_read_timeout=idle),
            log_enabled=False,
        )
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Not ready from now on; what runs is finished."""
        self._app.health.state = "stopping"
        self._stopping.set()

    async def serve(self) -> None:
        """Serve, and at the end answer who still comes and finish what runs.

        Streams without an end are ended. Whatever is not done after `FINISH` seconds is cut off.
        """
        if self._stopping.is_set():
            return
        serving = asyncio.create_task(self._server.serve())
        with _own_signals():
            await asyncio.sleep(0)  # it starts, and takes the signals over
        try:
            while not self._stopping.is_set() and not serving.done():
                self._app.sample()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _TICK)
            if serving.done():
                await serving
                return
            self._app.end_streams()
            await asyncio.sleep(GRACE)
            stop_listening(self._where)
            await asyncio.sleep(_LET_IN)
            with suppress(TimeoutError):
                async with asyncio.timeout(FINISH):
                    while self._app.running:
                        await asyncio.sleep(0.02)
        finally:
            self._server.stop()  # type: ignore[no-untyped-call]
            with suppress(TimeoutError):
                await asyncio.wait_for(serving, 1.0)
