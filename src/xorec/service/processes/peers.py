"""Workers among each other: requests handed on over Unix sockets, and their replies handed back.

A frame is two lengths, a head in JSON, and a body as it is. A connection carries one request at a
time; those that are free wait in a pool. Sockets lie in a folder that only this user can enter.
"""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from xorec.core.progress import logger
from xorec.service.http.exchange import HANDED_ON, Reply, Request
from xorec.service.http.problems import busy
from xorec.service.log.records import Exposure

CONNECT, ANSWER = 1.0, 30.0
"""Seconds to reach a worker, and for its reply."""
_LENGTHS = struct.Struct("!II")
_LONGEST = 1 << 30
_HEADERS = ("authorization", "x-api-key", "content-type", "host", "origin")
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Answer = Callable[[Request, bytes], Awaitable[Reply]]


class Peers:
    """The other workers. folder: where all sockets are; worker: our own number, of `count`."""

    def __init__(self, folder: Path, worker: int, count: int) -> None:
        self._folder, self.worker, self.count = folder, worker, count
        self._free: dict[int, list[Stream]] = {}
        self._server: asyncio.AbstractServer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, answer: Answer, expose: Callable[[Exposure], None]) -> None:
        """Answer what other workers hand on. expose: takes the exposures that they report."""
        self._loop = asyncio.get_running_loop()
        path = self._path(self.worker)
        path.unlink(missing_ok=True)

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    head, body = await _read(reader)
                    if "exposure" in head:
                        expose(Exposure(*head["exposure"]))
                    else:
                        await _write(writer, *_reply_frame(await answer(_request(head), body)))
            writer.close()

        self._server = await asyncio.start_unix_server(connected, path)

    async def ask(self, worker: int, request: Request, body: bytes = b"") -> Reply:
        """The reply of another worker; 503 if it is away. In a task of its own, for time-outs."""
        return await asyncio.get_running_loop().create_task(self._ask(worker, request, body))

    async def ask_writer(self, request: Request, body: bytes) -> Reply:
        """The reply of the worker that holds the log."""
        return await self.ask(0, request, body)

    async def _ask(self, worker: int, request: Request, body: bytes) -> Reply:
        stream = None
        try:
            async with asyncio.timeout(CONNECT):
                stream = await self._connection(worker)
            async with asyncio.timeout(ANSWER):
                await _write(stream[1], _request_head(request), body)
                head, answer = await _read(stream[0])
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            if stream is not None:
                stream[1].close()
            what = "that writes " if worker == 0 else ""
            raise busy(f"the worker {what}is away for a moment: send it again.") from None
        except BaseException:
            if stream is not None:  # a reply may come yet, and would be taken for the next one's
                stream[1].close()
            raise
        self._free.setdefault(worker, []).append(stream)
        headers = tuple((name, value) for name, value in head["headers"])
        return Reply(head["status"], answer, head["media_type"], headers)

    def expose(self, exposure: Exposure) -> None:
        """Send an exposure to the writer without waiting. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._send_exposure, exposure)

    def _send_exposure(self, exposure: Exposure) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._exposed(exposure))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _exposed(self, exposure: Exposure) -> None:
        stream = None
        try:
            async with asyncio.timeout(CONNECT):
                stream = await self._connection(0)
                await _write(stream[1], {"exposure": list(exposure)}, b"")
            self._free.setdefault(0, []).append(stream)
        except (OSError, TimeoutError):
            if stream is not None:  # half of it may be on the way
                stream[1].close()
            logger.warning("a list of an experiment was not noted: the writer is away")

    async def close(self) -> None:
        """Let go of all connections."""
        if self._server is not None:
            self._server.close()
        for streams in self._free.values():
            for _, writer in streams:
                writer.close()
        self._path(self.worker).unlink(missing_ok=True)

    async def _connection(self, worker: int) -> Stream:
        """One that is free and that the other side has not closed, or a new one."""
        free = self._free.setdefault(worker, [])
        while free:
            reader, writer = free.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_unix_connection(self._path(worker))

    def _path(self, worker: int) -> Path:
        return self._folder / f"w{worker}.sock"


def _request(head: Any) -> Request:
    return Request(head["method"], head["path"], head["query"], head["headers"], head["client"])


def _request_head(request: Request) -> dict[str, Any]:
    kept = {name: request.headers[name] for name in _HEADERS if name in request.headers}
    return {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "client": request.client,
        "headers": kept | {"x-request-id": request.id, HANDED_ON: "1"},
    }


def _reply_frame(reply: Reply) -> tuple[dict[str, Any], bytes]:
    head = {"status": reply.status, "media_type": reply.media_type, "headers": reply.headers}
    return head, reply.body


async def _write(writer: asyncio.StreamWriter, head: dict[str, Any], body: bytes) -> None:
    text = json.dumps(head).encode()
    writer.write(_LENGTHS.pack(len(text), len(body)) + text + body)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    lengths = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    if max(lengths) > _LONGEST:
        raise ConnectionError("this is no frame")
    head = json.loads(await reader.readexactly(lengths[0]))
    return head, await reader.readexactly(lengths[1])
