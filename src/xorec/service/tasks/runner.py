"""TaskRunner: one child at a time, in the worker that holds the log; and when an update is due."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from xorec.core.progress import logger
from xorec.service.live.catalogue import iso
from xorec.service.schemas.admin import TaskOut
from xorec.service.tasks.orders import Order

_KEPT = 100
"""Tasks that are remembered."""
_NOTES = 50
"""Lines of a task that are kept: what was tried, what was chosen."""
Done = Callable[["TaskOut", Order], None]


@dataclass
class _Task:
    order: Order
    out: TaskOut
    done: threading.Event = field(default_factory=threading.Event)


class TaskRunner:
    """Takes orders, runs them one after the other, remembers what came of them.

    on_done: called in the runner's thread with a task that ended well, to publish what it made.
    """

    def __init__(self, on_done: Done) -> None:
        self._on_done = on_done
        self._tasks: OrderedDict[str, _Task] = OrderedDict()
        self._waiting: deque[_Task] = deque()
        self._wake = threading.Condition()
        self._closing = False
        self._child: subprocess.Popen[str] | None = None
        self._count = 0
        self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
        self._thread.start()

    def add(self, order: Order) -> TaskOut:
        """Take on an order; one that already waits for the same model is not taken twice."""
        with self._wake:
            for task in self._waiting:
                if (task.order.kind, task.order.name) == (order.kind, order.name):
                    task.order = replace(order, until=max(order.until, task.order.until))
                    return task.out
            self._count += 1
            ident = f"{order.kind}-{time.time_ns() // 1_000_000:x}-{self._count}"
            out = TaskOut(id=ident, kind=order.kind, name=order.name, state="waiting")
            task = _Task(order, out)
            self._tasks[ident] = task
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
            self._waiting.append(task)
            self._wake.notify()
            return out

    def tasks(self) -> list[TaskOut]:
        """All that are remembered, newest first."""
        with self._wake:
            return [task.out.model_copy() for task in reversed(self._tasks.values())]

    def is_busy(self, kind: str, name: str) -> bool:
        """Whether such a task waits or runs."""
        return any(
            (one.kind, one.name) == (kind, name) and one.state in ("waiting", "running")
            for one in self.tasks()
        )

    def wait(self, ident: str, seconds: float) -> TaskOut:
        """A task when it has ended, or as it is after so many seconds."""
        task = self._tasks[ident]
        task.done.wait(seconds)
        return task.out.model_copy()

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
                logger.exception("task %s failed", task.out.id)
                task.out.state, task.out.detail = "failed", f"{type(error).__name__}: {error}"
            task.out.ended = iso(time.time_ns() // 1000)
            task.done.set()

    def _carry_out(self, task: _Task) -> None:
        out = task.out
        out.state, out.started = "running", iso(time.time_ns() // 1000)
        error = self._run_child(task)
        if error or out.result is None:
            out.state, out.detail = "failed", error or "the child process ended without a result"
            logger.error("task %s failed: %s", out.id, out.detail)
            return
        self._on_done(out, task.order)
        out.state, out.progress = "done", 1.0

    def _run_child(self, task: _Task) -> str:
        """Run the child to its end; what went wrong, or nothing."""
        command = [sys.executable, "-m", "xorec.service.tasks.work"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        error = ""
        with subprocess.Popen(command, text=True, **pipes) as child:
            with self._wake:
                self._child = child
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(asdict(task.order)))
            child.stdin.close()
            for line in child.stdout:
                error = _heed(task.out, line) or error
        with self._wake:
            self._child = None
        if child.returncode and not error:
            error = f"the child process ended with code {child.returncode}"
        return error


def _heed(out: TaskOut, line: str) -> str:
    """Take a line of the child into the task; an error that it tells of."""
    try:
        told = json.loads(line)
    except ValueError:
        return ""
    out.progress = told.get("progress", out.progress)
    out.detail = str(told.get("detail", out.detail))
    out.facts = told.get("facts", out.facts)
    if "note" in told:
        out.notes = [*out.notes, str(told["note"])][-_NOTES:]
    if "result" in told:
        out.result = told["result"]
    return str(told.get("error", ""))
