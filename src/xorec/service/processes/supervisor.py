"""Workers as forks of one warm process: interpreter, libraries and kernels are in memory once.

A fork happens before there are threads or a loop; the child waits for its orders on standard input,
as a worker that was started anew does. Where that cannot be, workers are started anew.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.progress import logger
from xorec.service.config import Config, revealed
from xorec.service.snapshots import is_snapshot


class Forked:
    """A child, by the names that a subprocess of asyncio has.

    stdin: its orders. report: where it says that it is ready; in the child of another number.
    """

    def __init__(self, pid: int, stdin: int, reading: int, writing: int) -> None:
        self.pid = pid
        self.stdin = Orders(stdin)
        self.reading, self.writing = reading, writing
        self.returncode: int | None = None
        self._ended: asyncio.Task[None] | None = None

    def send_signal(self, number: int) -> None:
        """Tell it something, if it is still there."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Until it has ended; its code."""
        if self._ended is None:
            self._ended = asyncio.ensure_future(asyncio.to_thread(self._reap))
        await asyncio.shield(self._ended)
        assert self.returncode is not None
        return self.returncode

    def _reap(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)


class Orders:
    """The writing end of a child's standard input."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        """All of it: orders are short."""
        os.write(self._descriptor, data)

    def close(self) -> None:
        """Let the child know that we are gone."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def fork_workers(config: Config, metrics: Path) -> list[Forked]:
    """As many children as there are workers to be; none where this process cannot fork."""
    if not hasattr(os, "fork"):
        return []
    _warm(config)
    others = {thread.name for thread in threading.enumerate()} - {"MainThread", "signals"}
    if others:  # that of the signals waits in the system and holds nothing
        logger.debug("workers are started anew: there are threads (%s)", ", ".join(sorted(others)))
        return []
    gc.freeze()  # what is there now is not looked at again, so its pages stay shared
    made: list[Forked] = []
    for _ in range(config.workers):
        orders, to_child = os.pipe()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            for other in (*made, Forked(0, to_child, reading, writing)):
                other.stdin.close()  # else nobody would notice that the supervisor is gone
                os.close(other.reading)
            os.dup2(orders, 0)
            os.close(orders)
            _run_child(metrics)
        os.close(orders)
        os.close(writing)
        made.append(Forked(pid, to_child, reading, writing))
    return made


def _run_child(metrics: Path) -> None:
    """Be a worker, and never come back."""
    code = 1
    try:
        from prometheus_client import values

        from xorec.service.processes.worker import main

        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
        values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm(config: Config) -> None:
    """Have in memory what every worker needs: the code, and the kernels of these models."""
    from xorec.recommender.recommender import Recommender
    from xorec.service.api.health import all_routes  # noqa: F401 (it brings all endpoints)

    for path in config.files.values():
        if is_snapshot(path):
            continue
        try:
            Recommender.load(path, threads=1).warm_up()
        except Exception as error:  # a worker will say it better
            logger.debug("%s is not warm: %s", path, error)


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
            *("-m", "xorec.service.processes.worker"),
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
