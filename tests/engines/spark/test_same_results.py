"""Lists, evaluation, trials and commands on Spark: the bytes and figures of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from xorec.cli.main import app
from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.engines.spark.engine import SparkEngine
from xorec.evaluation import rankings
from xorec.evaluation.protocol import evaluate
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import DataSpec, make_plan
from xorec.lab.reproduce.question import reproduce
from xorec.models import model_class
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.selection.comparison import compare_models
from xorec.selection.plan.constants import Constants
from xorec.selection.plan.forecast import forecast
from xorec.selection.plan.job import PlanInput, engine_shape
from xorec.selection.plan.sizes import DataSizes
from xorec.selection.tuning.tuning import tune
from xorec.testing.data import planted
from xorec.testing.engines import failing

PARTS = split(planted(120, 80, per_user=15), test=0.2, validation=0.1)
MODELS: dict[str, Model[Any]] = {
    "codes": DSIML(bits=32, optimizer="none", start={"epochs": 3}),
    "two stages": DSIML(bits=32, optimizer="none", shortlist=20, start={"epochs": 3}),
    "vectors": BPR(epochs=3),
    "neighbours": ItemKNN(),
}
TIMES = ("seconds", "seconds_fit", "us_per_query", "datetime_start", "datetime_complete")
SPARK = ("--engine", "spark:local[2]", "--partitions", "3")
Run = Callable[..., Result]


@pytest.fixture(scope="module", params=list(MODELS))
def model(request: pytest.FixtureRequest) -> Model[Any]:
    return MODELS[request.param].fit(PARTS.train, options=RunOptions(threads=1))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BLOCK_HITS", 7 * 17)


def written(job: batch.BatchJob, path: Path, options: RunOptions) -> bytes:
    summary = batch.write(job, path, options)
    assert summary.lists == len(job.query_ids)
    return path.read_bytes()


def test_lists_filters_and_neighbours_are_the_same_files(
    model: Model[Any], spark: SparkEngine, tmp_path: Path
) -> None:
    shop = Recommender.from_model(model, PARTS.train)
    allow, deny = shop.item_filter([*shop.item_ids][:40]), [shop.item_ids[3], shop.item_ids[8]]
    for job, partitions in (
        (batch.for_all_users(shop, 7), (1, 2, 3)),
        (batch.for_all_users(shop, 7, seen=True, allow=allow, deny=deny), (2,)),
        (batch.for_all_items(shop, 5), (2,)),
    ):
        here = written(job, tmp_path / "here.parquet", RunOptions(threads=2))
        for pieces in partitions:
            there = RunOptions(engine=spark.with_partitions(pieces))
            assert written(job, tmp_path / "there.parquet", there) == here


def test_a_block_that_fails_gives_one_line_and_leaves_no_file(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Recommender.from_model(ItemKNN().fit(PARTS.train), PARTS.train)
    monkeypatch.setattr(batch, "search_span", failing)
    with pytest.raises(DataError, match=r"^there are 2 numbers in this block: give none\.$"):
        written(batch.for_all_users(shop, 7), tmp_path / "a.csv", RunOptions(engine=spark))
    assert not list(tmp_path.iterdir())


def test_the_same_values_and_the_same_exposure(
    model: Model[Any], spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankings, "block_size", lambda items: 33)
    here = evaluate(model, PARTS.train, PARTS.test, options=RunOptions(threads=2))
    options = RunOptions(engine=spark.with_partitions(3))
    there = evaluate(model, PARTS.train, PARTS.test, options=options)
    assert there.metrics == here.metrics
    assert list(there.users) == list(here.users)
    for metric, values in here.per_user.items():
        np.testing.assert_array_equal(there.per_user[metric], values)


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
        dataset = DatasetRun(DataSpec(path="planted"), PARTS, plan, cache, options)
        reproduce(plan, [dataset], cache, options)
        kept = sorted(cache.folder.glob("*.json"))
        found.append({path.name: timeless(json.loads(path.read_text())) for path in kept})
    assert found[0] == found[1]
    assert {name.partition("-")[0] for name in found[0]} == {"choice", "test", "grid"}


@pytest.fixture
def run(spark: SparkEngine) -> Run:
    """Run a command here: it takes the session that there is."""

    def invoke(*words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in (*words, "-q")])

    return invoke


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = PARTS.train
    rows = zip(data.user_rows, data.indices, strict=True)
    lines = [f"u{user},{data.items[int(item)]}" for user, item in rows]
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    path.write_text("\n".join(["user_id,item_id", *lines]) + "\n")
    return path


def answer(result: Result) -> Any:
    """The answer in JSON, without what is measured in time."""
    assert result.exit_code == 0, result.output
    return timeless(json.loads(result.stdout)) | {"study": ""}


def test_lists_and_figures_of_a_model_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.xorec"
    fit = run("fit", ratings, "--model", "item-knn", "--test", 0.2, "-o", model)
    assert fit.exit_code == 0, fit.output
    for words in (
        ("recommend", model, "--all-users", "--deny", "1003"),
        ("similar", model, "--all-items"),
    ):
        for name, engine in (("here.parquet", ()), ("there.parquet", SPARK)):
            assert run(*words, "-k", 4, "-o", tmp_path / name, *engine).exit_code == 0
        here, there = ((tmp_path / name).read_bytes() for name in ("here.parquet", "there.parquet"))
        assert here == there
    one, other = (run("evaluate", model, "--json", *more) for more in ((), SPARK))
    assert answer(one) == answer(other)


def test_tuning_and_comparing(run: Run, ratings: Path, tmp_path: Path) -> None:
    tuned = [
        run("tune", ratings, "--model", "item-knn", "--trials", 3, "--at-once", 2, "--json", *more)
        for more in (("--study", tmp_path / "a"), ("--study", tmp_path / "b", *SPARK))
    ]
    assert answer(tuned[0]) == answer(tuned[1])
    words = ("compare", ratings, "--models", "popularity,item-knn", "--json")
    assert answer(run(*words)) == answer(run(*words, *SPARK))


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("als", {"epochs": 2, "dimensions": 8}),
        ("slim", {"neighbours": 5}),
        ("item-knn", {}),
        (
            "dsiml",
            {
                "optimizer": "flip",
                "epochs": 1,
                "negatives": 2,
                "bits": 16,
                "start": {"model": "als", "epochs": 1, "dimensions": 8},
            },
        ),
        ("bpr", {"epochs": 1, "dimensions": 8}),
    ],
)
def test_as_many_jobs_as_planned(spark: SparkEngine, model: str, settings: dict[str, Any]) -> None:
    data = planted(300, 200, per_user=5)
    learner = model_class(model)(**settings)
    given = PlanInput(DataSizes.of(data), engine_shape("spark:local[2]"), Constants())
    planned = forecast(given, "fit", learner)
    scheduler = spark.session.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    learner.fit(data, options=RunOptions(engine=spark))
    assert scheduler.numTotalJobs() - before == sum(step.jobs for step in planned.plan.steps)
