"""Forecasts beside a session of Spark: as many jobs as it really runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from xorec.core.options import RunOptions
from xorec.models import model_class
from xorec.selection.plan.asked import Asked
from xorec.selection.plan.constants import Constants
from xorec.selection.plan.engine_shape import engine_shape
from xorec.selection.plan.forecast import forecast
from xorec.selection.plan.sizes import DataSizes
from xorec.testing.data import planted

if TYPE_CHECKING:
    from xorec.engines.spark.engine import SparkEngine

START = {"model": "als", "epochs": 1, "dimensions": 8}
SWEEPS = {"optimizer": "flip", "epochs": 1, "negatives": 2, "bits": 16, "start": START}


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("als", {"epochs": 2, "dimensions": 8}),
        ("slim", {"neighbours": 5}),
        ("item-knn", {}),
        ("dsiml", SWEEPS),
        ("bpr", {"epochs": 1, "dimensions": 8}),
    ],
)
def test_as_many_jobs_as_planned(spark: SparkEngine, model: str, settings: dict[str, Any]) -> None:
    data = planted(300, 200, per_user=5)
    learner = model_class(model)(**settings)
    asked = Asked(DataSizes.of(data), engine_shape("spark:local[2]"), Constants())
    planned = forecast(asked, "fit", learner)
    scheduler = spark.session.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    learner.fit(data, options=RunOptions(engine=spark))
    assert scheduler.numTotalJobs() - before == sum(step.jobs for step in planned.plan.steps)
