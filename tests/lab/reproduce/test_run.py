"""Steps that are done elsewhere leave the results that they leave here."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.core.threads import LRUCache
from xorec.lab.reproduce import run as module
from xorec.lab.reproduce.cache import Cache, Result
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.run import reproduce
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

    monkeypatch.setattr(module, "_RUNS", LRUCache[Any](most=0))  # each task has a process ...
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
