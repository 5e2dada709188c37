"""Progress and the log: silent in the library, bars or lines on standard error in the CLI.

The logger `xorec` also gets the progress of long tasks. Its records carry figures as attributes
(`record.event`, `record.seconds`, `record.items`, ...), which a handler can write as JSON.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from xorec.core.printable import printable

logger = logging.getLogger("xorec")
logger.addHandler(logging.NullHandler())


@contextmanager
def logged(event: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """Log the start of a block (debug) and its end (info) with its seconds and `fields`.

    The block may add fields to the dictionary that it gets. A failed block logs no end.
    """
    logger.debug("%s begins", event, extra={"event": event, **fields})
    began = time.perf_counter()
    yield fields
    seconds = time.perf_counter() - began
    if logger.isEnabledFor(logging.INFO):
        figures = ", ".join(f"{name} {value}" for name, value in fields.items())
        extra = {"event": event, "seconds": seconds, **fields}
        logger.info("%s: %.3f s, %s", event, seconds, printable(figures), extra=extra)


WIDTH = 80
"""Columns of a terminal."""
FIRST = 5.0
_WAITS = (10.0, 20.0, 30.0)
"""Seconds until the first line, and between lines; the last value repeats."""


class Pace:
    """Decides when a line is due, for all tasks together, so that nested tasks print few lines."""

    def __init__(self) -> None:
        self._due, self._lines = FIRST, 0
        self._ended: float | None = None

    def begin(self, now: float) -> None:
        """A task begins. Short tasks one after another count as one long task."""
        if self._ended is None or now - self._ended >= FIRST:
            self._due, self._lines = now + FIRST, 0

    def end(self, now: float) -> None:
        """A task ends."""
        self._ended = now

    def is_due(self, now: float) -> bool:
        """Whether a line is due; if so, the next is due later."""
        if now < self._due:
            return False
        self._due = now + _WAITS[min(self._lines, len(_WAITS) - 1)]
        self._lines += 1
        return True


def report(task: TrackedTask, now: float) -> str:
    """`tune bpr 3/20 > bpr 12/40 (30 %), 35 s, about 82 s left, loss 0.4312`.

    Facts that would make the line wider than a terminal are left out.
    """
    words = [" > ".join([*map(_place, task.outer), _place(task)]), _duration(now - task.began)]
    if task.total and "left" not in task.facts:
        percent = f" ({100 * task.done / task.total:.0f} %)"
        words[0] += percent if isinstance(task.total, int) else ""
        left = _seconds_left(task, now)
        words += [] if left is None else [f"about {_duration(left)} left"]
    for fact in facts_in_words(task.facts):
        if len(", ".join([*words, fact])) <= WIDTH:
            words.append(fact)
    return ", ".join(words)


def facts_in_words(facts: Mapping[str, float | str]) -> list[str]:
    """Measures with four decimals, as in tables."""
    return [
        f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in facts.items()
    ]


def _place(task: TrackedTask) -> str:
    """How far a task is; a total that is a float is a share of the work, not a count."""
    if task.total is None:
        return task.name if task.facts else f"{task.name} {task.done:,.0f}"
    if isinstance(task.total, int):
        return f"{task.name} {task.done:,.0f}/{task.total:,}"
    return f"{task.name} {100 * task.done / max(task.total, 1e-9):.0f} %"


def _seconds_left(task: TrackedTask, now: float) -> float | None:
    """By the steps since the first advance: a resumed task begins with a leap."""
    if task.first is None or not task.total:
        return None
    when, done = task.first
    if task.done <= done:
        return None
    return max(0.0, (now - when) / (task.done - done) * (task.total - task.done))


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours: 82 s, 14 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


_open: ContextVar[tuple[TrackedTask, ...]] = ContextVar("open tasks", default=())
"""The open tasks of this thread, the outermost first."""


class Task:
    """One bar. `advance` moves it; `facts` are the numbers shown after it (loss, NDCG)."""

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        """Move by `steps` and show `facts`."""


class TrackedTask(Task):
    """A task that counts. outer: the tasks around it. first: (time, done) at the first advance."""

    def __init__(
        self, progress: Progress, name: str, total: float | None, outer: tuple[TrackedTask, ...]
    ) -> None:
        self.progress, self.name, self.total, self.outer = progress, name, total, outer
        self.done, self.began = 0.0, progress.clock()
        self.facts: dict[str, float | str] = {}
        self.first: tuple[float, float] | None = None

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        self.done += steps
        self.facts = {**self.facts, **facts}
        if self.first is None:
            self.first = self.progress.clock(), self.done
        self.progress._show(self, steps)


class Progress:
    """The silent progress, and the base of the visible ones.

    >>> with Progress().task("epochs", 2) as task:
    ...     task.advance(loss=0.5)
    """

    clock = staticmethod(time.monotonic)

    @cached_property
    def _pace(self) -> Pace:
        return Pace()

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        """A bar named `name` of `total` steps (None when the end is unknown)."""
        before = _open.get()
        outer = tuple(task for task in before if task.progress is self)
        if not outer:
            self._pace.begin(self.clock())
        task = TrackedTask(self, name, total, outer)
        _open.set((*before, task))
        try:
            yield task
        finally:
            _open.set(before)
            self._pace.end(self.clock())

    def _show(self, task: TrackedTask, steps: float) -> None:
        """Show that a task has moved; log it where a line is due."""
        now = self.clock()
        if self._pace.is_due(now):
            self._tell(task, report(task, now))

    def _tell(self, task: TrackedTask, line: str) -> None:
        """Log how far a long task is."""
        fields: dict[str, Any] = {"event": "progress", "task": task.name, "done": task.done}
        fields |= {"total": task.total, "seconds": self.clock() - task.began, "facts": task.facts}
        logger.info(line, extra=fields)

    def note(self, message: str) -> None:
        """Log a line worth reading: a guess, what was removed, when it stopped."""
        logger.info(message, extra={"event": "note"})


SILENT = Progress()


class LineProgress(Progress):
    """Notes, and a line now and then, on standard error: for files and pipes."""

    def _tell(self, task: TrackedTask, line: str) -> None:
        _write(line)
        super()._tell(task, line)

    def note(self, message: str) -> None:
        _write(message)
        super().note(message)


class TerminalProgress(Progress):
    """Rich bars and notes on standard error; a task inside another has its bar below it."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(file=sys.stderr, highlight=False)
        self._bars: Any = None
        self._bar_of: dict[int, Any] = {}

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        with super().task(name, total) as task, ExitStack() as last:
            if self._bars is None:
                self._bars = last.enter_context(self._display())
                last.callback(setattr, self, "_bars", None)
            bars = self._bars
            self._bar_of[id(task)] = bar = bars.add_task(printable(name), total=total, facts="")
            try:
                yield task
            finally:
                del self._bar_of[id(task)]
                bars.remove_task(bar)

    def _display(self) -> Any:
        from rich import progress as rich

        columns = (
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(bar_width=20),
            rich.TaskProgressColumn(),
            rich.TimeElapsedColumn(),
            rich.TextColumn("{task.fields[facts]}", markup=False),
        )
        return rich.Progress(*columns, console=self._console, transient=True)

    def _show(self, task: TrackedTask, steps: float) -> None:
        facts = "  ".join(facts_in_words(task.facts))
        self._bars.update(self._bar_of[id(task)], advance=steps, facts=facts)
        super()._show(task, steps)

    def note(self, message: str) -> None:
        self._console.print(printable(message), style="dim", markup=False, soft_wrap=True)
        super().note(message)


def _write(line: str) -> None:
    """Write a line at once, also to a file."""
    sys.stderr.write(f"{printable(line)}\n")
    sys.stderr.flush()
