"""Spark: the kit of engines, for several numbers of partitions."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.core.engine import Engine
from xorec.engines.spark.engine import PlacedBlocks, SparkEngine
from xorec.testing.engine_functions import by_remainder, scaled, scaled_again
from xorec.testing.engines import EngineKit

ONE = {"by": np.array([1])}


class TestSpark(EngineKit):
    @pytest.fixture(params=[1, 2, 3])
    def engine(self, spark: SparkEngine, request: pytest.FixtureRequest) -> Engine:
        return spark.with_partitions(request.param)


def test_what_blocks_were_made_with_stays_as_long_as_they_do(spark: SparkEngine) -> None:
    """Spark makes blocks anew where an executor is lost: here, where its cache is emptied."""
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
