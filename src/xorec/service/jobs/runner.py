"""TaskRunner: runs one child process at a time, in the worker that holds the log."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from xorec.core.progress import logger
from xorec.service.jobs.spec import TaskSpec
from xorec.service.live.state import iso

_KEPT = 100
"""Tasks that are remembered."""
_NOTES = 50
"""Lines of a task that are kept: what was tried, what was chosen."""


@dataclass
class Task:
    """A task in a child process, and what came of it. facts: how far it is, in numbers. notes: what
    it has said so far."""

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


class TaskRunner:
    """Takes specs, runs them one after the other, remembers what came of them.

    on_done: called in the runner's thread with a task that ended well, to publish what it made.
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
        """Take on a task; one that already waits for the same model is not taken twice."""
        with self._wake:
            for task in self._waiting:
                if (task.kind, task.name) == (spec.kind, spec.name):
                    task.spec = replace(spec, until=max(spec.until, task.spec.until))
                    return task
            self._count += 1
            ident = f"{spec.kind}-{time.time_ns() // 1_000_000:x}-{self._count}"
            task = self._tasks[ident] = Task(ident, spec.kind, spec.name, spec)
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
            self._waiting.append(task)
            self._wake.notify()
            return task

    def tasks(self) -> list[Task]:
        """All that are remembered, newest first."""
        with self._wake:
            return [replace(task) for task in reversed(self._tasks.values())]

    def is_busy(self, kind: str, name: str) -> bool:
        """Whether such a task waits or runs."""
        return any(
            (one.kind, one.name) == (kind, name) and one.state in ("waiting", "running")
            for one in self.tasks()
        )

    def wait(self, ident: str, seconds: float) -> Task:
        """A task when it has ended, or as it is after so many seconds."""
        task = self._tasks[ident]
        task.done.wait(seconds)
        return replace(task)

    def close(self) -> None:
        """Take on nothing more and end the child; what it was doing is done anew some day."""
        with self._wake:
            self._closing = True
            self._wake.notify()
            if self._child is not None:
                self._child.terminate()
        self._thread.join(5)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._closing:
                    self._wake.wait()
                if self._closing:
                    return
                task = self._waiting.popleft()
            try:
                self._carry_out(task)
            except Exception as error:  # the runner outlives any task
                logger.exception("task %s failed", task.id)
                task.state, task.detail = "failed", f"{type(error).__name__}: {error}"
            task.ended = iso(time.time_ns() // 1000)
            task.done.set()

    def _carry_out(self, task: Task) -> None:
        task.state, task.started = "running", iso(time.time_ns() // 1000)
        error = self._run_child(task)
        if error or task.result is None:
            task.state, task.detail = "failed", error or "the child process ended without a result"
            logger.error("task %s failed: %s", task.id, task.detail)
            return
        self._on_done(task)
        task.state, task.progress = "done", 1.0

    def _run_child(self, task: Task) -> str:
        """Run the child to its end; what went wrong, or nothing."""
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
                error = _heed(task, line) or error
        with self._wake:
            self._child = None
        if child.returncode and not error:
            error = f"the child process ended with code {child.returncode}"
        return error


def _heed(task: Task, line: str) -> str:
    """Take a line of the child into the task; an error that it tells of."""
    try:
        told = json.loads(line)
    except ValueError:
        return ""
    task.progress = told.get("progress", task.progress)
    task.detail = str(told.get("detail", task.detail))
    task.facts = told.get("facts", task.facts)
    if "note" in told:
        task.notes = [*task.notes, str(told["note"])][-_NOTES:]
    if "result" in told:
        task.result = told["result"]
    return str(told.get("error", ""))
