"""Workers as forks of one warm process: interpreter, libraries and kernels are in memory once.

A fork happens before there are threads or a loop; the child waits for its orders on standard input,
as a worker that was started anew does. Where that cannot be, workers are started anew.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from xorec.core.progress import logger
from xorec.service.settings.config import Config
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

        from xorec.service.workers.worker import main

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
    from xorec.service.http.table import all_routes  # noqa: F401 (it brings all endpoints)

    for path in config.files.values():
        if is_snapshot(path) or config.shard or config.shards:
            continue
        try:
            Recommender.load(path, threads=1).warm_up()
        except Exception as error:  # a worker will say it better
            logger.debug("%s is not warm: %s", path, error)
