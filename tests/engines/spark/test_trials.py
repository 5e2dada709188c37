"""Trials, comparisons and experiments on Spark are those of this machine, times apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.engines.spark.engine import SparkEngine
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Source, make_plan
from xorec.lab.reproduce.run import reproduce
from xorec.selection.comparison import compare_models
from xorec.selection.tuning.tuning import tune
from xorec.testing.data import planted

PARTS = split(planted(120, 80, per_user=15), test=0.2, validation=0.1)
TIMES = ("seconds", "seconds_fit", "us_per_query", "datetime_start", "datetime_complete")


def timeless(value: Any) -> Any:
    """What JSON has, without times."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name not in TIMES}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def study(path: Path) -> list[Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [timeless({**line, "worker_id": ""}) for line in lines]


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_study_is_that_of_this_machine(spark: SparkEngine, tmp_path: Path, at_once: int) -> None:
    fixed = {"epochs": 6, "validate_every": 2, "dimensions": 8}
    how: dict[str, Any] = {"fixed": fixed, "trials": 7, "at_once": at_once}
    paths = tmp_path / "here", tmp_path / "there"
    here = tune("bpr", PARTS, study=paths[0], **how, options=RunOptions(threads=1))
    there = tune("bpr", PARTS, study=paths[1], **how, options=RunOptions(engine=spark))
    assert there.settings == here.settings
    trials = [[replace(one, seconds=0.0) for one in found.trials] for found in (here, there)]
    assert trials[0] == trials[1]
    assert study(paths[0]) == study(paths[1])


def test_a_comparison_has_the_same_rows(spark: SparkEngine) -> None:
    models = ["popularity", "bpr:epochs=3", "dsiml:epochs=1"]
    quick = {"dsiml": {"start": {"epochs": 2}}}
    how: dict[str, Any] = {"settings": quick, "bits": (16, 32)}
    here = compare_models(PARTS, models, **how, options=RunOptions(threads=1))
    there = compare_models(PARTS, models, **how, options=RunOptions(engine=spark))
    assert [timeless(one.row()) for one in there] == [timeless(one.row()) for one in here]
    assert [one.model.config for one in there] == [one.model.config for one in here]


def test_an_experiment_has_the_same_results(spark: SparkEngine, tmp_path: Path) -> None:
    plan = make_plan(
        questions=("rq1", "rq5"),
        hashing=("dsiml", "signs"),
        bits=(8, 16),
        seeds=(0, 1),
        trials=2,
        grid_seeds=1,
        lambdas=(0.5, 1.0),
        gammas=(1.0,),
        quick=True,
    )
    found = []
    for name, options in (("a", RunOptions(threads=1)), ("b", RunOptions(engine=spark))):
        cache = Cache(tmp_path / name)
        dataset = DatasetRun(Source(path="planted"), PARTS, plan, cache, options)
        reproduce(plan, [dataset], cache, options)
        kept = sorted(cache.folder.glob("*.json"))
        found.append({path.name: timeless(json.loads(path.read_text())) for path in kept})
    assert found[0] == found[1]
    assert {name.partition("-")[0] for name in found[0]} == {"choice", "test", "grid"}
