"""When to tell of a long task where there is no bar, and in which words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xorec.core.progress import TrackedTask

WIDTH = 80
"""Columns of a terminal."""
FIRST = 5.0
_WAITS = (10.0, 20.0, 30.0)
"""Seconds until the first line, and from each line to the next; the last of them stays."""


class Pace:
    """Says when a line is due: for all tasks together, so that tasks in tasks do not flood.

    >>> pace = Pace()
    >>> pace.begin(0)
    >>> [second for second in range(100) if pace.is_due(second)]
    [5, 15, 35, 65, 95]
    """

    def __init__(self) -> None:
        self._due, self._lines = FIRST, 0
        self._ended: float | None = None

    def begin(self, now: float) -> None:
        """A task begins. Short ones that follow each other at once count as one long one."""
        if self._ended is None or now - self._ended >= FIRST:
            self._due, self._lines = now + FIRST, 0

    def end(self, now: float) -> None:
        """A task is over."""
        self._ended = now

    def is_due(self, now: float) -> bool:
        """Whether it is time for a line; if so, the next is due later."""
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
    """How far a task is; a total that is no whole number is a share of the work, not a count."""
    if task.total is None:
        return task.name if task.facts else f"{task.name} {task.done:,.0f}"
    if isinstance(task.total, int):
        return f"{task.name} {task.done:,.0f}/{task.total:,}"
    return f"{task.name} {100 * task.done / max(task.total, 1e-9):.0f} %"


def _seconds_left(task: TrackedTask, now: float) -> float | None:
    """By the steps since the first: a task that is taken up again begins with a leap."""
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
