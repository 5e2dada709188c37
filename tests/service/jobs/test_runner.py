"""Orders, one after the other; who waits already is not taken on twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from xorec.service.jobs.runner import TaskRunner, TaskSpec

PATIENCE = 30.0


def test_an_order_that_waits_takes_on_the_latest_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    done: list[tuple[str, int]] = []

    def child(runner: TaskRunner, task: Any) -> str:
        begun.set()
        assert go.wait(PATIENCE)
        task.result = {}
        return ""

    monkeypatch.setattr(TaskRunner, "_run_child", child)
    runner = TaskRunner(lambda task: done.append((task.kind, task.spec.until)))
    try:
        runner.add(TaskSpec("update", str(tmp_path), until=3))
        assert begun.wait(PATIENCE)
        waiting = [runner.add(TaskSpec("purge", str(tmp_path), until=until)) for until in (5, 9, 7)]
        go.set()
        assert runner.wait(waiting[0].id, PATIENCE).state == "done"
    finally:
        runner.close()
    assert len({one.id for one in waiting}) == 1
    assert done == [("update", 3), ("purge", 9)]
