"""The supervisor: several workers on one socket. Starts them, restarts who dies, ends them well.

Worker 0 holds the log: it is ready before the others begin, and leaves after they have left. A
worker ends when its standard input does, so that none outlives the supervisor.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.progress import logger
from xorec.service.settings.config import Config, revealed
from xorec.service.workers.forking import Forked, fork_workers

Facts = dict[str, Any]
Process = asyncio.subprocess.Process | Forked
_LONGEST_PAUSE, _HEALTHY = 5.0, 30.0
"""Seconds between two starts at most, and of life after which a death is not held against it."""
_LONGEST_SOCKET = 103
"""Bytes that the path of a Unix socket may have: 107 on Linux, 103 on macOS and BSD."""
_KILL_AFTER = 9.5
"""Seconds after which a worker that does not end is killed."""


def supervise(
    config: Config, listening: socket.socket, lock: int, on_ready: Callable[[Facts], None]
) -> None:
    """Serve with `config.workers` processes until SIGTERM or SIGINT."""
    where = folder_for_sockets()
    with tempfile.TemporaryDirectory(prefix="xorec-", dir=where) as folder:  # only we can enter it
        metrics = Path(folder) / "metrics"
        metrics.mkdir()
        forked = fork_workers(config, metrics)
        shared = (listening.fileno(), lock)
        asyncio.run(_Supervisor(config, shared, Path(folder), forked, on_ready).run())


def folder_for_sockets() -> str:
    """The folder of temporary files; /tmp where its name is too long for a socket below it."""
    folder = tempfile.gettempdir()
    longest = os.fsencode(folder) + b"/xorec-12345678/w1234.sock"
    return folder if len(longest) <= _LONGEST_SOCKET else "/tmp"


class _Supervisor:
    def __init__(
        self,
        config: Config,
        shared: tuple[int, int],
        folder: Path,
        forked: list[Forked],
        on_ready: Callable[[Facts], None],
    ) -> None:
        self._config, self._shared, self._folder = config, shared, folder
        self._forked = dict(enumerate(forked))
        self._on_ready = on_ready
        self._processes: dict[int, Process] = {}
        self._stopping = asyncio.Event()
        self._released = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        count = self._config.workers
        ready = [loop.create_future() for _ in range(count)]
        first = asyncio.create_task(self._keep(0, ready[0]))
        others: list[asyncio.Task[None]] = []
        try:
            facts = await _first_of(ready[0], first)
            others = [asyncio.create_task(self._keep(n, ready[n])) for n in range(1, count)]
            for one, task in zip(ready[1:], others, strict=True):
                await _first_of(one, task)
            if not self._stopping.is_set():
                self._on_ready(facts)
            await self._stopping.wait()
        finally:
            self._stop()
            await asyncio.gather(*others, return_exceptions=True)
            self._released.set()
            self._release(0)
            await asyncio.gather(first, return_exceptions=True)

    def _stop(self) -> None:
        """All workers are told at once: not ready from now on."""
        self._stopping.set()
        for process in self._processes.values():
            if process.returncode is None:
                process.terminate()

    def _release(self, worker: int) -> None:
        process = self._processes.get(worker)
        if process is not None and process.stdin is not None:
            process.stdin.close()

    async def _keep(self, worker: int, ready: asyncio.Future[Facts]) -> None:
        """A worker, again and again until the end."""
        pause = 0.1
        while not self._stopping.is_set():
            began = time.monotonic()
            process, report = await self._spawn(worker)
            said = await asyncio.to_thread(_first_report, report)
            if not ready.done():
                if "ready" not in said:
                    await process.wait()
                    raise XorecError(said.get("error") or f"worker {worker} did not start.")
                ready.set_result(said["ready"])
            elif "error" in said:
                logger.error("worker %d: %s", worker, said["error"])
            await self._wait(process)
            if self._stopping.is_set():
                return
            pause = 0.1 if time.monotonic() - began > _HEALTHY else min(2 * pause, _LONGEST_PAUSE)
            logger.error(
                "worker %d ended (code %s): it starts again in %.1f s",
                worker,
                process.returncode,
                pause,
            )
            await _either(self._stopping, pause)

    async def _wait(self, process: Process) -> None:
        """Until it has ended; one that is told to and does not is killed."""
        ending = asyncio.create_task(process.wait())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not ending.done():
            try:
                await asyncio.wait_for(asyncio.shield(ending), _KILL_AFTER)
            except TimeoutError:
                process.kill()
        await ending

    async def _spawn(self, worker: int) -> tuple[Process, int]:
        """A worker with its orders, and where it reports: a fork that waits, else a new process."""
        process: Process
        forked = self._forked.pop(worker, None)
        if forked is not None:
            process, reading, writing = forked, forked.reading, forked.writing
        else:
            reading, writing = os.pipe()
            process = await self._start_anew(writing)
            os.close(writing)
        self._processes[worker] = process
        orders = {
            "config": revealed(self._config),
            "worker": worker,
            "count": self._config.workers,
            "folder": str(self._folder),
            "socket": self._shared[0],
            "report": writing,
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(orders).encode() + b"\n")  # keys: on no command line
        if self._stopping.is_set():
            process.terminate()
        return process, reading

    async def _start_anew(self, report: int) -> asyncio.subprocess.Process:
        environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(self._folder / "metrics")}
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "xorec.service.workers.worker"),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=(*self._shared, report),
            env=environment,
        )


async def _first_of(ready: asyncio.Future[Facts], task: asyncio.Task[None]) -> Facts:
    """What a worker says when it is ready; its error if it ends before."""
    both: set[asyncio.Future[Any]] = {ready, task}
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        task.result()
        return {}
    return ready.result()


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return


def _first_report(descriptor: int) -> Facts:
    """The first line of a worker, or nothing if it died."""
    with os.fdopen(descriptor) as file:
        line = file.readline()
    facts: Facts = json.loads(line) if line else {}
    return facts
