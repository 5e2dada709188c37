"""Service: what the handlers work with. One in each worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xorec.service.comparisons import Comparisons
from xorec.service.events.records import Exposure
from xorec.service.pages import Pages
from xorec.service.problems import busy

if TYPE_CHECKING:
    from xorec.service.config import Config
    from xorec.service.events.reader import LogReader
    from xorec.service.events.sequence import SharedSequence
    from xorec.service.forwarding import Peers
    from xorec.service.live.models import LiveModels
    from xorec.service.metrics import Metrics
    from xorec.service.tasks.runner import TaskRunner
    from xorec.service.writing import LogWriter


@dataclass
class Service:
    """config: as it is in force. models: what is served, by name. reader: questions to the log.
    writer, tasks: append to the log, work in child processes; None in a worker that follows.
    worker: its number, 0 holds the log. hand_on: tells the writer of an exposure from elsewhere.
    peers: the other workers, where there are some.
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
    pages: Pages = field(default_factory=Pages)
    comparisons: Comparisons = field(default_factory=Comparisons)
    events_counted: tuple[int, int, float] = (-1, 0, 0.0)
    """The place of the log at which its events were counted, how many, and when to count anew."""
    hand_on: Callable[[Exposure], None] = lambda exposure: None

    def follow(self) -> None:
        """Know everything that was acknowledged before now; the writer knows before it answers."""
        if self.writer is None and self.sequence.value > self.models.applied_seq:
            self.models.catch_up()

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
        """Keep that somebody was shown a list in an experiment, without waiting."""
        if self.writer is not None:
            self.writer.expose(exposure)
        else:
            self.hand_on(exposure)
