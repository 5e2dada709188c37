"""TaskRunner: runs tasks one by one, each in a child process (`jobs.run`); only in worker 0."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from xorec.core.progress import logger
from xorec.service.live.generations import Generations
from xorec.service.live.state import iso
from xorec.service.log.location import LogLocation

_MOST_TASKS = 100
"""Tasks that are remembered."""
_NOTES = 50
"""Lines of a task that are kept: what was tried, what was chosen."""


@dataclass(frozen=True)
class TaskSpec:
    """The child's input, as JSON. kind: "update", "refit" or "purge". until: the last `seq` of the
    log to read. events: the address of the log, if not in the folder; it may hold a password."""

    kind: str
    folder: str
    name: str = "default"
    until: int = 0
    recipe: str | None = None
    settings: Mapping[str, Any] | None = None
    gate_drop: float = 0.02
    keep: int = 5
    threads: int = 1
    checkpoint: str = ""
    activate: bool = True
    events: str | None = field(default=None, repr=False)

    @property
    def log(self) -> LogLocation:
        return LogLocation.of(Path(self.folder), self.events)

    @property
    def generations(self) -> Generations:
        return Generations(Path(self.folder) / "models" / self.name)


@dataclass
class Task:
    """A task, its progress and its result, updated from the JSON lines that the child prints.
    facts: numbers of its progress. notes: the last lines for people."""

    id: str
    kind: str
    name: str
    spec: TaskSpec = field(repr=False)
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    started: str | None = None
    ended: str | None = None
    detail: str = ""
    progress: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    result: dict[str, Any] | None = None
    done: threading.Event = field(default_factory=threading.Event, repr=False)

    def read_line(self, line: str) -> str:
        """Update the task from a line of the child; returns the error in it, or ""."""
        try:
            told = json.loads(line)
        except ValueError:
            return ""
        for name in ("progress", "detail", "facts", "result"):
            if name in told:
                setattr(self, name, told[name])
        if "note" in told:
            self.notes = [*self.notes, str(told["note"])][-_NOTES:]
        return str(told.get("error", ""))


class TaskRunner:
    """Queues specs, runs them one after the other in a thread, remembers the tasks.

    on_done: called in that thread after a task succeeded, to publish its result; may raise.
    """

    def __init__(self, on_done: Callable[[Task], None]) -> None:
        self._on_done = on_done
        self._tasks: OrderedDict[str, Task] = OrderedDict()
        self._waiting: deque[Task] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._child: subprocess.Popen[str] | None = None
        self._count = 0
        self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
        self._thread.start()

    def add(self, spec: TaskSpec) -> Task:
        """Queue a task. If one of this kind and model waits, only its `until` is raised."""
        with self._wake:
            for task in self._waiting:
                if (task.kind, task.name) == (spec.kind, spec.name):
                    task.spec = replace(spec, until=max(spec.until, task.spec.until))
                    return task
            self._count += 1
            ident = f"{spec.kind}-{time.time_ns() // 1_000_000:x}-{self._count}"
            task = self._tasks[ident] = Task(ident, spec.kind, spec.name, spec)
            while len(self._tasks) > _MOST_TASKS:
                self._tasks.popitem(last=False)
            self._waiting.append(task)
            self._wake.notify()
            return task

    def tasks(self) -> list[Task]:
        """Copies of the remembered tasks, newest first."""
        with self._wake:
            return [replace(task) for task in reversed(self._tasks.values())]

    def is_busy(self, kind: str, name: str) -> bool:
        """Whether a task of this kind and model waits or runs."""
        return any(
            (one.kind, one.name) == (kind, name) and one.state in ("waiting", "running")
            for one in self.tasks()
        )

    def wait(self, ident: str, seconds: float) -> Task:
        """A copy of a task, when it has ended or after so many seconds."""
        task = self._tasks[ident]
        task.done.wait(seconds)
        return replace(task)

    def close(self) -> None:
        """Start no more tasks and terminate the child; what it did is lost."""
        with self._wake:
            self._closing = True
            self._wake.notify()
            if self._child is not None:
                self._child.terminate()
        self._thread.join(5)

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                task = self._waiting.popleft()
            task.state, task.started = "running", iso(time.time_ns() // 1000)
            try:
                error = self._run_child(task)
                if not error and task.result is None:
                    error = "the child process ended without a result"
                if error:
                    logger.error("task %s failed: %s", task.id, error)
                else:
                    self._on_done(task)
            except Exception as raised:  # the runner outlives any task
                logger.exception("task %s failed", task.id)
                error = f"{type(raised).__name__}: {raised}"
            if error:
                task.state, task.detail = "failed", error
            else:
                task.state, task.progress = "done", 1.0
            task.ended = iso(time.time_ns() // 1000)
            task.done.set()

    def _run_child(self, task: Task) -> str:
        """Run the child to its end; returns its error, or ""."""
        command = [sys.executable, "-m", "xorec.service.jobs.run"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        error = ""
        with subprocess.Popen(command, text=True, **pipes) as child:
            with self._wake:
                self._child = child
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(asdict(task.spec)))
            child.stdin.close()
            for line in child.stdout:
                error = task.read_line(line) or error
        with self._wake:
            self._child = None
        if child.returncode and not error:
            error = f"the child process ended with code {child.returncode}"
        return error
