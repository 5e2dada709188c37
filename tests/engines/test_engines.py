"""Threads: the kit of engines; every model fitted on an engine is the one that threads fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.core.engine import Engine, LocalEngine
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.engines.spark.engine import SparkEngine
from xorec.models import MODELS, model_class
from xorec.models.base import Model
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted, weighted
from xorec.testing.engines import EngineKit


class TestLocal(EngineKit):
    @pytest.fixture(params=[1, 2, 5])
    def engine(self, request: pytest.FixtureRequest) -> Engine:
        return LocalEngine(request.param)


IN_BLOCKS: list[tuple[str, dict[str, Any]]] = [
    ("als", {"dimensions": 8, "epochs": 2}),
    ("item-knn", {"neighbours": 5}),
    ("slim", {"neighbours": 5}),
    ("dsiml", {"bits": 16, "epochs": 1, "optimizer": "flip", "start": {"epochs": 1}}),
    ("dsiml", {"bits": 16, "epochs": 1, "optimizer": "bqp", "start": {"epochs": 1}}),
    ("dsiml", {"bits": 16, "optimizer": "none", "start": {"model": "als", "epochs": 1}}),
    ("blend", {"bits": 16, "start": {"model": "als", "epochs": 1}, "slim": {"neighbours": 5}}),
]
AS_A_TASK: list[tuple[str, dict[str, Any]]] = [
    ("bpr", {"dimensions": 8, "epochs": 2}),
    ("dsiml", {"bits": 16, "epochs": 1, "start": {"epochs": 1}}),
    ("ease", {}),
    ("lightrec", {"epochs": 1, "start": {"epochs": 1}}),
]


class Elsewhere(LocalEngine):
    """Threads that say that they are elsewhere: the way that fits take on a cluster."""

    is_remote = True


@pytest.fixture(scope="module")
def data() -> Interactions:
    return weighted(planted(600, 120, per_user=9))


def fitted(case: tuple[str, dict[str, Any]], data: Interactions, engine: Engine | None) -> Any:
    name, settings = case
    model: Model[Any] = model_class(name)(**settings)
    return model.fit(data, None, RunOptions(seed=4, threads=2, engine=engine))


def file_of(model: Model[Any], data: Interactions, path: Path) -> bytes:
    Recommender.from_model(model, data, seed=4).save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "case", [*IN_BLOCKS, *AS_A_TASK], ids=lambda case: "-".join(map(str, case))
)
def test_threads_elsewhere(
    case: tuple[str, dict[str, Any]], data: Interactions, tmp_path: Path
) -> None:
    here, there = fitted(case, data, None), fitted(case, data, Elsewhere(3))
    assert file_of(here, data, tmp_path / "a") == file_of(there, data, tmp_path / "b")
    assert here.history_ == there.history_
    assert here.epochs_ == there.epochs_
    assert here.config == there.config


def test_every_model_runs_in_blocks_or_as_a_task() -> None:
    """A model that is new does one or the other without a line of its own."""
    in_blocks = {name for name in MODELS if model_class(name)().runs_on_engine}
    assert in_blocks == {"popularity", "als", "item-knn", "slim", "blend"}
    assert model_class("dsiml")(optimizer="flip").runs_on_engine


@pytest.mark.parametrize("case", [*IN_BLOCKS[:4], AS_A_TASK[1]], ids=lambda case: case[0])
def test_spark(
    case: tuple[str, dict[str, Any]], data: Interactions, spark: SparkEngine, tmp_path: Path
) -> None:
    here = fitted(case, data, None)
    there = fitted(case, data, spark.with_partitions(2))
    assert file_of(here, data, tmp_path / "a") == file_of(there, data, tmp_path / "b")
    assert here.history_ == there.history_
