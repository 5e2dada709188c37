"""Steps: skipped, told, and done elsewhere with the results that they leave here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from xorec.core.options import RunOptions
from xorec.core.progress import Progress, Task, TerminalProgress
from xorec.core.threads import LRUCache
from xorec.lab.reproduce import question
from xorec.lab.reproduce.cache import Cache, Result
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.question import Step, reproduce, run_all
from xorec.lab.reproduce.sections import Section
from xorec.testing.engines import InProcess

from .conftest import MakeDataset


def results(folder: Path) -> dict[str, Any]:
    """Values and arrays of a cache, by name; without times."""
    found: dict[str, Any] = {}
    for path in folder.glob("*.json"):
        kept = json.loads(path.read_text())
        kept["values"].pop("seconds", None)
        found[path.name] = kept
    for path in folder.glob("*.npz"):
        with np.load(path) as arrays:
            found[path.name] = {name: arrays[name].tolist() for name in arrays}
    return found


def run(dataset: DatasetRun, folder: Path, options: RunOptions) -> list[Section]:
    cache = Cache(folder)
    fresh = DatasetRun(dataset.source, dataset.parts, dataset.plan, cache, options)
    return reproduce(dataset.plan, [fresh], cache, options)


@pytest.mark.exhaustive
def test_results_and_sections_are_equal(make_dataset: MakeDataset, tmp_path: Path) -> None:
    dataset = make_dataset(questions=("rq2", "rq4", "rq5"), trials=2)
    here = run(dataset, tmp_path / "a", RunOptions(threads=1))
    there = run(dataset, tmp_path / "b", RunOptions(threads=1, engine=InProcess(2)))
    assert results(tmp_path / "a") == results(tmp_path / "b")
    assert [one.claims for one in here] == [one.claims for one in there]


def test_a_test_elsewhere_takes_the_choice_that_was_made(
    make_dataset: MakeDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned, numbers = list[str](), count()
    tune = DatasetRun._tune

    def counted(self: DatasetRun, key: dict[str, Any]) -> Result:
        tuned.append(key["model"])
        return tune(self, key)

    monkeypatch.setattr(question, "_RUNS", LRUCache[Any](most=0))  # each task has a process ...
    monkeypatch.setattr(os, "getpid", lambda: next(numbers))  # ... of its own
    monkeypatch.setattr(DatasetRun, "_tune", counted)
    run(make_dataset(questions=("rq2",)), tmp_path / "a", RunOptions(engine=InProcess(1)))
    assert sorted(tuned) == ["bpr", "popularity"]


def test_what_is_there_is_not_done_again(make_dataset: MakeDataset, tmp_path: Path) -> None:
    dataset, engine = make_dataset(questions=("rq2",)), InProcess(1)
    for _ in range(2):
        run(dataset, tmp_path / "a", RunOptions(engine=engine))
    counts = [len(blocks) for blocks in engine.sent]
    assert counts == [2, 4, 0, 0]  # two methods are chosen, then tested with two seeds each


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
