"""Spark: the kit of engines, for several numbers of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.engine import Engine
from xorec.engines.spark import engine as spark_engine
from xorec.engines.spark.engine import PlacedBlocks, SparkEngine
from xorec.testing.engines import EngineKit, by_remainder, scaled, scaled_again

ONE = {"by": np.array([1])}


class TestSpark(EngineKit):
    @pytest.fixture(params=[1, 2, 3])
    def engine(self, spark: SparkEngine, request: pytest.FixtureRequest) -> Engine:
        return spark.with_partitions(request.param)


def test_what_blocks_were_made_with_stays_as_long_as_they_do(spark: SparkEngine) -> None:
    """Spark computes blocks again where an executor is lost: here, where its cache is emptied."""
    engine = spark.with_partitions(2)
    placed = engine.place([{"x": np.arange(3) + at} for at in range(4)])
    moved = engine.transform(scaled_again, placed, [{"by": np.array([2])}])
    sent = engine.exchange(by_remainder, moved, 2, (), count=2)
    expected = [one["y"].tolist() for one in engine.map_blocks(scaled, sent, [ONE])]
    engine.release(placed)
    engine.release(moved)
    spark.session.catalog.clearCache()
    assert [one["y"].tolist() for one in engine.map_blocks(scaled, sent, [ONE])] == expected
    assert isinstance(sent, PlacedBlocks)
    names = {file.path for file in sent.files}
    assert names
    assert all(path.stat().st_size for path in names)
    engine.release(sent)
    assert not any(path.stat().st_size for path in names)


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_large_results_of_placed_blocks_come_in_several_jobs(
    spark: SparkEngine, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    monkeypatch.setattr(spark_engine, "_WAVE_BYTES", 200)
    engine, jobs = spark.with_partitions(partitions), []
    placed = engine.place([{"x": np.arange(3) + at} for at in range(23)])
    whole = SparkEngine._job

    def counted(self: SparkEngine, task: Any, frame: Any) -> Any:
        jobs.append(sorted(row.block for row in frame.select("block").collect()))
        return whole(self, task, frame)

    monkeypatch.setattr(SparkEngine, "_job", counted)
    made = list(engine.map_blocks(scaled, placed, [{"by": np.array([10])}]))
    assert [one["y"].tolist() for one in made] == [
        [10 * (at + i) for i in range(3)] for at in range(23)
    ]
    assert [number for job in jobs for number in job] == list(range(23))
    first = 2 * partitions  # blocks seem to be larger than they are, and results are: 24 bytes
    assert [len(one) for one in jobs[:2]] == [first, max(first, 200 // 24)]
    engine.release(placed)


def test_a_run_of_placed_blocks_lies_in_all_partitions(spark: SparkEngine) -> None:
    from pyspark.sql import functions as f

    placed = spark.with_partitions(3).place([{"x": np.arange(2)} for _ in range(12)])
    assert isinstance(placed, PlacedBlocks)
    some = placed.frame.filter(placed.frame["block"].isin(3, 4, 5))
    parts = {row.part for row in some.select(f.spark_partition_id().alias("part")).collect()}
    assert parts == {0, 1, 2}
    spark.release(placed)
