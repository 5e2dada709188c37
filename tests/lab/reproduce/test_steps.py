from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

from rich.console import Console

from xorec.core.options import RunOptions
from xorec.core.progress import Progress, Task, TerminalProgress
from xorec.lab.reproduce.question import Step, run_all


class _Notes(Progress):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.moved = 0.0

    def note(self, message: str) -> None:
        self.notes.append(message)

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        outer = self

        class _Count(Task):
            def advance(self, steps: float = 1, **facts: float | str) -> None:
                outer.moved += steps

        yield _Count()
        assert self.moved == total


def test_what_is_done_is_skipped_and_equal_keys_run_once() -> None:
    ran: list[str] = []

    def step(key: str, cost: float, done: bool = False) -> Step:
        def run() -> str:
            ran.append(key)
            return "well"

        return Step(key, f"do {key}", cost, lambda: done, run)

    progress = _Notes()
    todo = [step("a", 1), step("b", 1, done=True), step("a", 1), step("c", 2)]
    run_all(todo, RunOptions(progress=progress))
    assert ran == ["a", "c"]
    assert [note.split(" (")[0] for note in progress.notes] == ["1/3 do a: well", "3/3 do c: well"]
    assert "s left" in progress.notes[0]
    assert progress.notes[1].endswith("(about 0 s left)")


def test_bars_stand_inside_each_other() -> None:
    progress, text = TerminalProgress(), StringIO()
    progress._console = Console(file=text, force_terminal=True, width=100)
    with progress.task("whole", 2) as whole:
        for part in ("first", "second"):
            with progress.task(part, 1) as task:
                task.advance(1, loss=0.5)
                progress._bars.refresh()
            whole.advance(1, left="2 min")
    assert progress._bars is None
    with progress.task("again"):
        pass
    shown = text.getvalue()
    assert all(word in shown for word in ("whole", "first", "second", "left 2 min", "again"))
