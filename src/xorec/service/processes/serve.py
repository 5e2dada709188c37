"""What `xorec serve` starts: one worker in this process, or several that this process supervises.

Workers are forks of one warm process: interpreter, libraries and kernels are in memory once. A fork
happens before there are threads or a loop; the child waits for its orders on standard input, as a
worker started as a new process does; where forks are not safe, all workers are new processes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xorec.core import files, interrupts
from xorec.core.errors import OptionError, XorecError
from xorec.core.progress import logger
from xorec.service.config import Config, revealed
from xorec.service.http.server import address, reserve
from xorec.service.logs import log_to_stderr
from xorec.service.processes.start import check_files
from xorec.service.processes.worker import WorkerSlot, ready_facts, run_worker
from xorec.service.snapshots import is_snapshot

Facts = dict[str, Any]
_LONGEST_PAUSE, _HEALTHY = 5.0, 30.0
"""Seconds between two starts at most, and of life after which a death is not held against it."""
_LONGEST_SOCKET = 103
"""Bytes that the path of a Unix socket may have: 107 on Linux, 103 on macOS and BSD."""
_KILL_AFTER = 9.5
"""Seconds after which a worker that does not end is killed."""


def serve(config: Config, on_ready: Callable[[str, Facts], None]) -> None:
    """Serve until SIGTERM or SIGINT. on_ready: gets the address and facts about what is served."""
    check_files(config)
    log_to_stderr(config.log_level)
    with ExitStack() as stack:
        lock = stack.enter_context(hold_folder(config.folder))
        where = stack.enter_context(reserve(config))
        shown = address(where)
        interrupts.forget()  # from here on a signal is a wish to end well
        if config.workers == 1:
            run_worker(
                config, where, WorkerSlot(), lambda started: on_ready(shown, ready_facts(started))
            )
        else:
            supervise(config, where, lock, lambda facts: on_ready(shown, facts))


@contextmanager
def hold_folder(folder: Path) -> Iterator[int]:
    """Hold the folder's lock; the system lets go of it when the process ends, however it does.

    Its descriptor is passed on to workers: the lock lasts until the last of them has ended.
    Where the block fails before anything else is in a folder that was not there, it goes again.
    """
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise files.cannot_write(folder / "lock", error) from None
    try:
        if files.lock(handle) is False:
            raise OptionError(
                f"another service uses {folder}: end it, or give this one its own --data."
            )
        try:
            yield handle
        except BaseException:
            if not was_there and os.listdir(folder) == ["lock"]:
                (folder / "lock").unlink()
                folder.rmdir()
            raise
    finally:
        os.close(handle)


def supervise(
    config: Config, where: tuple[str, int], lock: int, on_ready: Callable[[Facts], None]
) -> None:
    """Serve with `config.workers` processes until SIGTERM or SIGINT."""
    sockets = folder_for_sockets()
    with tempfile.TemporaryDirectory(prefix="xorec-", dir=sockets) as folder:  # ours alone
        metrics = Path(folder) / "metrics"
        metrics.mkdir()
        forked = dict(enumerate(_fork_workers(config, metrics)))
        supervisor = _Supervisor(config, where, lock, Path(folder), forked, on_ready)
        asyncio.run(supervisor.run())


def folder_for_sockets() -> str:
    """The folder of temporary files; /tmp where its name is too long for a socket below it."""
    folder = tempfile.gettempdir()
    longest = os.fsencode(folder) + b"/xorec-12345678/w1234.sock"
    return folder if len(longest) <= _LONGEST_SOCKET else "/tmp"


# -- forks


class Forked:
    """A child, used as a Popen is. report: both ends of where it says that it is ready; in the
    child the descriptor has the same number."""

    returncode: int | None = None

    def __init__(self, pid: int, orders: int, report: tuple[int, int]) -> None:
        self.pid, self.report = pid, report
        self.stdin = os.fdopen(orders, "wb", buffering=0)

    def send_signal(self, number: int) -> None:
        """Tell it something, if it is still there."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self) -> int:
        """Until it has ended; its code."""
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


Process = subprocess.Popen[bytes] | Forked


def _fork_workers(config: Config, metrics: Path) -> list[Forked]:
    """As many children as there are workers to be; none where this process cannot fork."""
    if not hasattr(os, "fork"):
        return []
    _warm(config)
    others = {thread.name for thread in threading.enumerate()} - {"MainThread", "signals"}
    if others:  # that of the signals waits in the system and holds nothing
        logger.debug("workers are not forked: there are threads (%s)", ", ".join(sorted(others)))
        return []
    gc.freeze()  # what is there now is not looked at again, so its pages stay shared
    made: list[Forked] = []
    for _ in range(config.workers):
        (orders, to_child), report = os.pipe(), os.pipe()
        pid = os.fork()
        made.append(Forked(pid, to_child, report))
        if pid == 0:
            for other in made:
                other.stdin.close()  # else a worker would not see that the supervisor is gone
                os.close(other.report[0])
            os.dup2(orders, 0)
            os.close(orders)
            _run_child(metrics)
        os.close(orders)
        os.close(report[1])
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
    """Have in memory what every worker needs: the kernels of these models."""
    from xorec.recommender.recommender import Recommender

    for path in config.files.values():
        if is_snapshot(path):
            continue
        try:
            Recommender.load(path, threads=1).warm_up()
        except Exception as error:  # a worker will say it better
            logger.debug("%s is not warm: %s", path, error)


# -- the supervisor


@dataclass
class _Supervisor:
    config: Config
    where: tuple[str, int]
    lock: int
    folder: Path
    forked: dict[int, Forked]
    on_ready: Callable[[Facts], None]

    def __post_init__(self) -> None:
        self._processes: dict[int, Process] = {}
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        loop, count = asyncio.get_running_loop(), self.config.workers
        loop.set_default_executor(ThreadPoolExecutor(count))  # each waits for a worker
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        ready = [loop.create_future() for _ in range(count)]
        first = asyncio.create_task(self._keep(0, ready[0]))
        others: list[asyncio.Task[None]] = []
        try:
            facts = await ready[0]
            others = [asyncio.create_task(self._keep(n, ready[n])) for n in range(1, count)]
            await asyncio.gather(*ready)
            if not self._stopping.is_set():
                self.on_ready(facts)
            await self._stopping.wait()
        finally:
            self._stop()
            await asyncio.gather(*others, return_exceptions=True)
            if 0 in self._processes:  # the writer stays until it is let go
                self._processes[0].stdin.close()  # type: ignore[union-attr]
            await asyncio.gather(first, return_exceptions=True)

    def _stop(self) -> None:
        """All workers are told at once: not ready from now on."""
        self._stopping.set()
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)

    async def _keep(self, worker: int, ready: asyncio.Future[Facts]) -> None:
        """A worker, again and again until the end. ready: what it says first, or its error."""
        pause = 0.1
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                process, report = self._spawn(worker)
                said = await asyncio.to_thread(_first_report, report)
                if not ready.done():
                    if "ready" not in said:
                        await asyncio.to_thread(process.wait)
                        raise XorecError(said.get("error") or f"worker {worker} did not start.")
                    ready.set_result(said["ready"])
                elif "error" in said:
                    logger.error("worker %d: %s", worker, said["error"])
                code = await self._wait(process)
                if self._stopping.is_set():
                    return
                was_healthy = time.monotonic() - began > _HEALTHY
                pause = 0.1 if was_healthy else min(2 * pause, _LONGEST_PAUSE)
                logger.error(
                    "worker %d ended (code %s): it starts again in %.1f s", worker, code, pause
                )
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            if not ready.done():
                ready.set_result({})

    async def _wait(self, process: Process) -> int:
        """Its code, when it has ended; one that is told to and does not is killed."""
        ending = asyncio.ensure_future(asyncio.to_thread(process.wait))
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        done, _ = await asyncio.wait({ending}, timeout=_KILL_AFTER)
        if not done:
            process.send_signal(signal.SIGKILL)
        return await ending

    def _spawn(self, worker: int) -> tuple[Process, int]:
        """A worker with its orders, and where it reports: a fork that waits, else a new process."""
        forked = self.forked.pop(worker, None)
        reading, writing = os.pipe() if forked is None else forked.report
        if forked is None:
            process: Process = subprocess.Popen(
                [sys.executable, "-m", "xorec.service.processes.worker"],
                stdin=subprocess.PIPE,
                pass_fds=(self.lock, writing),
                env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(self.folder / "metrics")},
                bufsize=0,
            )
            os.close(writing)
        else:
            process = forked
        self._processes[worker] = process
        orders = {
            "config": revealed(self.config),
            "worker": worker,
            "count": self.config.workers,
            "folder": str(self.folder),
            "where": self.where,
            "report": writing,
        }
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has died already: its report says so
            process.stdin.write(json.dumps(orders).encode() + b"\n")  # keys: on no command line
        if self._stopping.is_set():
            process.send_signal(signal.SIGTERM)
        return process, reading


def _first_report(descriptor: int) -> Facts:
    """The first line of a worker, or nothing if it died."""
    with os.fdopen(descriptor) as file:
        line = file.readline()
    facts: Facts = json.loads(line) if line else {}
    return facts
