"""Service: what the handlers work with; one in each worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xorec.service.http.problems import busy
from xorec.service.live.held_out import Comparisons
from xorec.service.live.lists import ListCursors
from xorec.service.log.records import Exposure

if TYPE_CHECKING:  # the client reads the API's schemas, and needs no server for that
    from xorec.service.config import Config
    from xorec.service.jobs.runner import TaskRunner
    from xorec.service.live.models import Follower, LiveModels
    from xorec.service.log.base import LogReader
    from xorec.service.log.writer import LogWriter, SharedSequence
    from xorec.service.metrics import Metrics
    from xorec.service.processes.peers import Peers


@dataclass
class Service:
    """config: as it is in force. models: what is served, by name. reader: questions to the log.
    writer, tasks: append to the log, work in child processes; None in a worker that follows.
    worker: its number, 0 holds the log. hand_on: tells the writer of an exposure from elsewhere.
    peers: the other workers, where there are some. follower: applies what others write, where there
    are such.
    """

    config: Config
    models: LiveModels
    reader: LogReader
    sequence: SharedSequence
    metrics: Metrics
    writer: LogWriter | None = None
    tasks: TaskRunner | None = None
    worker: int = 0
    peers: Peers | None = None
    follower: Follower | None = None
    cursors: ListCursors = field(default_factory=ListCursors)
    comparisons: Comparisons = field(default_factory=Comparisons)
    events_counted: tuple[int, int, float] = (-1, 0, 0.0)
    """The log position at which events were counted, how many, and when to count again."""
    hand_on: Callable[[Exposure], None] = lambda exposure: None

    @property
    def shares_log(self) -> bool:
        """Whether the log is in a database, where other machines may write to it, too."""
        return self.config.events is not None

    def follow(self) -> Awaitable[bool] | None:
        """Know everything that was acknowledged before now; the writer knows before it answers.

        What is to be awaited for that, if the log is in a database: a look at it takes time. Where
        it is away lists go on with what is known.
        """
        last = self.sequence.value
        if self.writer is not None or last <= self.models.applied_seq:
            return None
        if self.shares_log and self.follower is not None:
            return None if self.follower.is_failing else self.reach(last)
        self.models.catch_up(last)
        return None

    async def log_has(self, seq: int) -> bool:
        """Whether the log has such a seq: another machine may have given it just now."""
        if seq <= self.sequence.value:
            return True
        if not self.shares_log:
            return False
        loop = asyncio.get_running_loop()
        return seq <= await loop.run_in_executor(None, self.reader.last_seq)

    async def reach(self, seq: int) -> bool:
        """Whether everything up to a seq that the log has is known, after a wait if need be."""
        seconds = self.config.limits.wait_seconds
        if self.follower is not None and self.shares_log:
            return await self.follower.reach(seq, seconds)
        deadline = asyncio.get_running_loop().time() + seconds
        while seq > self.models.applied_seq:
            self.follow()
            if seq <= self.models.applied_seq:
                break
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.002)
        return True

    def require_writer(self) -> LogWriter:
        """The writer of the log; only worker 0 has it, and others hand such requests on."""
        if self.writer is None:
            raise busy("this worker does not write: the request was not handed on.")
        return self.writer

    def require_tasks(self) -> TaskRunner:
        """The runner of tasks, likewise."""
        if self.tasks is None:
            raise busy("this worker runs no tasks: the request was not handed on.")
        return self.tasks

    def expose(self, exposure: Exposure) -> None:
        """Keep that a list of an experiment was shown, without waiting."""
        if self.writer is not None:
            self.writer.expose(exposure)
        else:
            self.hand_on(exposure)
