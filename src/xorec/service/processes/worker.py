"""One worker: its app, its server and its service, from the start to a graceful end."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from xorec.core.errors import XorecError
from xorec.core.printable import jsonable
from xorec.core.progress import logger
from xorec.service.api.health import all_routes
from xorec.service.config import Config
from xorec.service.http.app import App, WorkerHealth
from xorec.service.http.server import HttpServer
from xorec.service.logs import AccessLog, log_to_stderr
from xorec.service.metrics import Metrics
from xorec.service.processes.peers import Peers
from xorec.service.processes.start import Started, start_follower, start_writer

LAST = 8.0
"""Seconds that the writer stays for the others at the end."""


@dataclass
class WorkerSlot:
    """The number of a worker, how many there are, and the folder of their sockets.

    With a folder there is a supervisor: standard input ends when the supervisor ends.
    """

    worker: int = 0
    count: int = 1
    folder: Path | None = None


def run_worker(
    config: Config,
    where: tuple[str, int],
    slot: WorkerSlot,
    on_ready: Callable[[Started], None],
) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called when requests are answered."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_Worker(config, where, slot, on_ready).run())


@dataclass
class _Worker:
    config: Config
    where: tuple[str, int]
    slot: WorkerSlot
    on_ready: Callable[[Started], None]

    def __post_init__(self) -> None:
        config, slot = self.config, self.slot
        self.peers = None
        if slot.folder is not None:
            self.peers = Peers(slot.folder, slot.worker, slot.count)
        self.health, self.metrics = WorkerHealth(), Metrics(slot.worker)
        self.access_log = None if config.access_log == "off" else AccessLog(config.access_log)
        self.app = App(
            config,
            all_routes(self.health, self.metrics),
            self.health,
            self.metrics,
            worker=slot.worker,
            forward=self.peers.ask_writer if self.peers is not None and slot.worker else None,
            access_log=self.access_log,
        )
        self.server = HttpServer(self.app, config, self.where)
        self.released = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.server.stop)
        if self.peers is not None:
            threading.Thread(target=self._watch, args=(loop,), daemon=True).start()
            await self.peers.listen(self.app.reply, self.app.expose)
        serving: asyncio.Task[None] | None = None
        if self.slot.worker == 0:  # it answers while it starts; others accept nothing yet
            serving = asyncio.create_task(self.server.serve())
        started: Started | None = None
        gc.disable()  # a start makes no garbage to speak of, and looking for it takes time
        try:
            started = await loop.run_in_executor(None, self._start)
            started.service.peers = self.peers
            self.app.service = started.service
            if self.health.state == "starting":
                self.health.state = "ready"
                gc.freeze()  # what is there now stays: it is never looked at again
                gc.enable()
                serving = serving or asyncio.create_task(self.server.serve())
                self.on_ready(started)
        finally:
            gc.enable()
            if started is None:
                self.server.stop()
            if serving is not None:
                await serving
            await self._end(started)

    def _start(self) -> Started:
        config, worker = self.config, self.slot.worker
        if worker == 0 or self.peers is None:
            return start_writer(config, self.metrics)
        return start_follower(config, self.metrics, worker, self.peers.expose)

    async def _end(self, started: Started | None) -> None:
        """No more requests: write what waits, close everything."""
        if self.peers is not None:
            if self.slot.worker == 0 and started is not None:
                try:
                    await asyncio.wait_for(self.released.wait(), LAST)
                except TimeoutError:
                    logger.warning("other workers have not ended in %g s", LAST)
            await self.peers.close()
        if started is not None:
            await asyncio.to_thread(started.close)
        self.app.close()
        if self.access_log is not None:
            self.access_log.close()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """The supervisor has let go of us, or is gone: end."""
        while os.read(0, 1024):
            pass
        loop.call_soon_threadsafe(self.released.set)
        loop.call_soon_threadsafe(self.server.stop)


def ready_facts(started: Started) -> dict[str, Any]:
    """What is said when a service is ready: generations, replayed records, ids to try."""
    models = started.service.models
    facts: dict[str, Any] = {
        "generations": {name: models[name].about.number for name in models.names()},
        "replayed": started.replayed,
    }
    for what, ids in (("user", models.default.users), ("item", models.default.items)):
        first = ids[0] if len(ids) else None
        facts[f"{what}s"] = len(ids)
        facts[what] = None if first is None else str(first)
        facts[f"{what}_json"] = None if first is None else json.dumps(jsonable(first))
    return facts


def main() -> None:
    """A worker of a supervisor: its orders come as a line on standard input, which stays open."""
    line = b""
    while not line.endswith(b"\n"):  # without a buffer: the end of the input means something, too
        more = os.read(0, 65_536)
        if not more:
            sys.exit(1)
        line += more
    orders = json.loads(line)
    config = Config.model_validate(orders["config"])
    log_to_stderr(config.log_level, orders["worker"])
    report = os.fdopen(orders["report"], "w", buffering=1)

    def tell(**facts: Any) -> None:
        report.write(json.dumps(facts) + "\n")

    slot = WorkerSlot(orders["worker"], orders["count"], Path(orders["folder"]))
    try:
        run_worker(
            config, tuple(orders["where"]), slot, lambda started: tell(ready=ready_facts(started))
        )
    except XorecError as error:
        tell(error=str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
