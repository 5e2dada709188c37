"""Everybody's lists on Spark are those of this machine, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.engines.spark.engine import SparkEngine
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted
from xorec.testing.engine_functions import failing

DATA = planted(90, 60, per_user=12)
MODELS: dict[str, Model[Any]] = {
    "codes": DSIML(bits=32, optimizer="none", start={"epochs": 3}),
    "vectors": BPR(epochs=3),
    "neighbours": ItemKNN(),
}


@pytest.fixture(scope="module", params=list(MODELS))
def shop(request: pytest.FixtureRequest) -> Recommender:
    model = MODELS[request.param].fit(DATA, options=RunOptions(threads=1))
    return Recommender.from_model(model, DATA)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BLOCK_HITS", 7 * 17)


def written(job: batch.BatchJob, path: Path, options: RunOptions) -> bytes:
    summary = batch.write(job, path, options)
    assert summary.lists == len(job.query_ids)
    return path.read_bytes()


def test_the_files_are_equal_for_any_number_of_partitions(
    shop: Recommender, spark: SparkEngine, tmp_path: Path
) -> None:
    job = batch.for_all_users(shop, 7)
    expected = written(job, tmp_path / "here.parquet", RunOptions(threads=2))
    for partitions in (1, 2, 3):
        options = RunOptions(engine=spark.with_partitions(partitions))
        assert written(job, tmp_path / "there.parquet", options) == expected


def test_filters_and_neighbours_travel_too(
    shop: Recommender, spark: SparkEngine, tmp_path: Path
) -> None:
    allow, deny = shop.item_filter([*shop.item_ids][:40]), [shop.item_ids[3], shop.item_ids[8]]
    jobs = [
        batch.for_all_users(shop, 7, seen=True, allow=allow, deny=deny),
        batch.for_all_items(shop, 5),
    ]
    for job in jobs:
        here = written(job, tmp_path / "here.csv", RunOptions(threads=1))
        assert written(job, tmp_path / "there.csv", RunOptions(engine=spark)) == here
    assert len({*here.splitlines()}) == 1 + 60 * 5


def test_a_block_that_fails_gives_one_line_and_leaves_no_file(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Recommender.from_model(ItemKNN().fit(DATA), DATA)
    monkeypatch.setattr(batch, "search_span", failing)
    with pytest.raises(DataError, match=r"^there are 2 numbers in this block: give none\.$"):
        written(batch.for_all_users(shop, 7), tmp_path / "a.csv", RunOptions(engine=spark))
    assert not list(tmp_path.iterdir())
