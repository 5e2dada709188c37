"""The command line with --engine: the same files and figures, errors in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from xorec.cli.main import app
from xorec.engines.spark.engine import SparkEngine
from xorec.testing.data import planted

SPARK = ("--engine", "spark:local[2]", "--partitions", "3")
Run = Callable[..., Result]


@pytest.fixture
def run(spark: SparkEngine) -> Run:
    """Run a command here: it takes the session that there is."""

    def invoke(*words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in (*words, "-q")])

    return invoke


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = planted(120, 80, per_user=15)
    rows = zip(data.user_rows, data.indices, strict=True)
    lines = [f"u{user},{data.items[int(item)]}" for user, item in rows]
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    path.write_text("\n".join(["user_id,item_id", *lines]) + "\n")
    return path


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
    assert timeless(one) == timeless(other)


def test_tuning_and_comparing(run: Run, ratings: Path, tmp_path: Path) -> None:
    tuned = [
        run("tune", ratings, "--model", "item-knn", "--trials", 3, "--at-once", 2, "--json", *more)
        for more in (("--study", tmp_path / "a"), ("--study", tmp_path / "b", *SPARK))
    ]
    assert timeless(tuned[0]) == timeless(tuned[1])
    words = ("compare", ratings, "--models", "popularity,item-knn", "--json")
    assert timeless(run(*words)) == timeless(run(*words, *SPARK))


def timeless(result: Result) -> Any:
    """The answer in JSON, without what is measured in time."""
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    answer.pop("study", None)
    for row in answer["rows"]:
        for name in ("seconds", "seconds_fit", "us_per_query"):
            row.pop(name, None)
    return answer
