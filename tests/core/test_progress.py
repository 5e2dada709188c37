from __future__ import annotations

import logging
from typing import TypeVar

import pytest

from xorec.core.progress import LineProgress, Progress, TrackedTask, report


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


P = TypeVar("P", bound=Progress)


def timed(kind: type[P]) -> tuple[P, Clock]:
    """Progress of a kind by a clock of its own."""
    progress = kind()
    progress.clock = clock = Clock()
    return progress, clock


def test_a_long_task_tells_of_itself_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    progress, clock = timed(LineProgress)
    with progress.task("bpr", 100) as task:
        for _ in range(100):
            clock.now += 1
            task.advance(1, loss=0.5)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        *("bpr 5/100", "bpr 15/100", "bpr 35/100", "bpr 65/100", "bpr 95/100")
    ]
    assert lines[1] == "bpr 15/100 (15 %), 15 s, about 85 s left, loss 0.5000"


@pytest.mark.parametrize(("pause", "lines"), [(0, 2), (60, 0)])
def test_many_short_tasks_in_a_row_are_one_long_one(
    pause: float, lines: int, capsys: pytest.CaptureFixture[str]
) -> None:
    progress, clock = timed(LineProgress)
    for number in range(20):
        with progress.task(f"fit {number}", 2) as task:
            clock.now += 1
            task.advance()
        clock.now += pause
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_tasks_in_tasks_share_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    progress, clock = timed(LineProgress)
    with progress.task("tune bpr", 3) as outer:
        for _ in range(3):
            with progress.task("bpr", 20) as task:
                for _ in range(20):
                    clock.now += 0.5
                    task.advance()
            outer.advance()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2  # after 5 and 15 of 30 seconds
    assert lines[0].startswith("tune bpr 0/3 > bpr 10/20 (50 %), 5 s")
    assert lines[1].startswith("tune bpr 1/3 > bpr 10/20 (50 %), 5 s")


def test_what_is_left_does_not_count_what_an_earlier_run_has_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress, clock = timed(LineProgress)
    with progress.task("bpr", 100) as task:
        task.advance(80)
        for _ in range(5):
            clock.now += 2
            task.advance()
    assert "about 34 s left" in capsys.readouterr().err  # 17 epochs of 2 s


@pytest.mark.parametrize("kind", [Progress, LineProgress])
def test_the_logger_gets_records_with_fields(
    kind: type[Progress], caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    progress, clock = timed(kind)
    with caplog.at_level(logging.INFO, "xorec"), progress.task("bpr", 10) as task:
        progress.note("a guess")
        clock.now += 7
        task.advance(2, loss=0.25)
    note, record = caplog.records
    assert (note.getMessage(), note.__dict__["event"]) == ("a guess", "note")
    fields = {name: record.__dict__[name] for name in ("event", "task", "done", "total", "seconds")}
    assert fields == {"event": "progress", "task": "bpr", "done": 2, "total": 10, "seconds": 7}
    assert record.__dict__["facts"] == {"loss": 0.25}
    said = capfd.readouterr()
    assert (said.out, bool(said.err)) == ("", kind is LineProgress)


def test_facts_that_do_not_fit_a_terminal_are_left_out() -> None:
    progress, clock = timed(Progress)
    with progress.task("dsiml", 100) as task:
        assert isinstance(task, TrackedTask)
        clock.now += 7
        task.advance(20, loss=0.5, validation_loss_of_all_the_pairs=0.25, users=3)
        clock.now += 7
        task.advance(20)
        line = report(task, clock.now)
    assert line == "dsiml 40/100 (40 %), 14 s, about 21 s left, loss 0.5000, users 3"
