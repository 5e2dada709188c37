"""Progress, through one object: silent in the library, a bar on standard error in the CLI."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xorec.core.printable import printable


class Task:
    """One bar. `advance` moves it; `facts` are the numbers shown after it (loss, NDCG)."""

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        """Move by `steps` and show `facts`."""


class Progress:
    """The silent progress, and the base of the visible one.

    >>> with Progress().task("epochs", 2) as task:
    ...     task.advance(loss=0.5)
    """

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        """A bar named `name` of `total` steps (None when the end is unknown)."""
        yield Task()

    def note(self, message: str) -> None:
        """A line worth reading: a guess that was made, what was removed, when it stopped."""


SILENT = Progress()


class TerminalProgress(Progress):
    """Rich bars and notes on standard error, so standard output holds results only.

    A task that begins inside another has its bar below it.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(file=sys.stderr, highlight=False)
        self._bars: Any = None

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        if self._bars is not None:
            yield from self._bar(name, total)
            return
        with self._display() as self._bars:
            try:
                yield from self._bar(name, total)
            finally:
                self._bars = None

    def _bar(self, name: str, total: float | None) -> Iterator[Task]:
        bars = self._bars
        task_id = bars.add_task(printable(name), total=total, facts="")
        try:
            yield _RichTask(bars, task_id)
        finally:
            bars.remove_task(task_id)

    def _display(self) -> Any:
        from rich import progress as rich_progress

        columns = (
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(bar_width=20),
            rich_progress.TaskProgressColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.fields[facts]}", markup=False),
        )
        return rich_progress.Progress(
            *columns, console=self._console, transient=True, disable=not self._console.is_terminal
        )

    def note(self, message: str) -> None:
        self._console.print(printable(message), style="dim", markup=False, soft_wrap=True)


class _RichTask(Task):
    def __init__(self, bars: Any, task_id: Any) -> None:
        self._bars, self._id = bars, task_id

    def advance(self, steps: float = 1, **facts: float | str) -> None:
        text = "  ".join(
            f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
            for name, value in facts.items()
        )
        update: dict[str, object] = {"advance": steps}
        if facts:
            update["facts"] = text
        self._bars.update(self._id, **update)
