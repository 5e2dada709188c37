"""Evaluation on Spark: the values of each user are those of this machine, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.engines.spark.engine import SparkEngine
from xorec.evaluation import rankings
from xorec.evaluation.protocol import evaluate
from xorec.models.base import Model
from xorec.models.baselines.item_knn import ItemKNN
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.testing.data import planted

PARTS = split(planted(200, 60, per_user=12), test=0.3)
MODELS: dict[str, Model[Any]] = {
    "codes": DSIML(bits=32, optimizer="none", start={"epochs": 3}),
    "two stages": DSIML(bits=32, optimizer="none", shortlist=20, start={"epochs": 3}),
    "vectors": BPR(epochs=3),
    "neighbours": ItemKNN(),
}


@pytest.mark.parametrize(("name", "partitions"), [*zip(MODELS, (1, 2, 3, 2), strict=True)])
def test_the_same_values_and_the_same_exposure(
    spark: SparkEngine, name: str, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankings, "block_size", lambda items: 33)
    model = MODELS[name].fit(PARTS.train, options=RunOptions(threads=1))
    here = evaluate(model, PARTS.train, PARTS.test, options=RunOptions(threads=2))
    options = RunOptions(engine=spark.with_partitions(partitions))
    there = evaluate(model, PARTS.train, PARTS.test, options=options)
    assert there.metrics == here.metrics
    assert list(there.users) == list(here.users)
    for metric, values in here.per_user.items():
        np.testing.assert_array_equal(there.per_user[metric], values)
