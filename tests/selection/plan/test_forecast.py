"""Forecasts: exact where they can be, growing with every size; how sizes are counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.engines.spark import engine as spark_engine
from xorec.models import MODELS, model_class
from xorec.models.baselines.item_knn import root_weights, shared_pairs
from xorec.models.factorization.als import ALS
from xorec.models.siml import siml_race
from xorec.selection.plan import fits
from xorec.selection.plan import job as jobs
from xorec.selection.plan import sizes as counting
from xorec.selection.plan.constants import Constants
from xorec.selection.plan.forecast import JOBS, Forecast, forecast
from xorec.selection.plan.job import PlanInput, by_item_bytes, engine_shape, pairs_bytes
from xorec.selection.plan.sizes import DataSizes, data_sizes
from xorec.testing.data import planted
from xorec.training.discrete import block_sweeps

DATA = planted(700, 300, per_user=9)
SIZES = DataSizes.of(DATA)
SPARK, LOCAL = "spark:local[2]", "local"


def given(engine: str = LOCAL, sizes: DataSizes = SIZES, **shape: Any) -> PlanInput:
    return PlanInput(sizes, engine_shape(engine, memory=8 << 30, **shape), Constants())


def planned(model: str = "als", engine: str = LOCAL, job: str = "fit", **settings: Any) -> Forecast:
    return forecast(given(engine), job, model_class(model)(**settings))


def nbytes(*arrays: Any) -> int:
    return sum(array.nbytes for array in arrays)


def test_bytes_are_those_of_the_arrays() -> None:
    ids = 8 * (DATA.n_users + DATA.n_items)
    assert pairs_bytes(SIZES) == nbytes(DATA.indptr, DATA.indices) + ids
    orders = (*DATA.by_item, DATA.item_order, DATA.user_rows)
    assert by_item_bytes(SIZES) == nbytes(*orders)
    model = ALS(dimensions=24, epochs=1).fit(DATA, options=RunOptions(threads=1))
    tensors = model.representation_.tensors()
    assert fits.vector_bytes(SIZES, 24) == nbytes(tensors["user_vectors"], tensors["item_vectors"])
    for kind, side in zip(("users", "items"), model._sides(DATA), strict=True):
        arrays = [array for block in side.blocks() for array in block.values()]
        assert fits.placed_bytes(SIZES, kind) == nbytes(*arrays)
    about = 20 * DATA.n_items  # tie ranks, their inverse, sizes
    shared = shared_pairs(DATA, root_weights(DATA))
    assert fits.pairs_file(SIZES) == nbytes(*shared.values()) + about
    assert fits.meetings(SIZES) == pytest.approx(float((DATA.user_counts**2).sum()))


@pytest.mark.parametrize("bits", [16, 64, 100])
def test_codes_take_whole_words(bits: int) -> None:
    settings = {"optimizer": "none", "bits": bits, "start": {"model": "als", "epochs": 1}}
    model = model_class("dsiml")(**settings).fit(DATA, options=RunOptions(threads=1))
    learned = model.representation_
    assert fits.code_bytes(SIZES, bits) == nbytes(learned.user_codes, learned.item_codes)
    kept = learned.tensors()
    assert fits.stored_code_bytes(SIZES, bits) == nbytes(kept["user_codes"], kept["item_codes"])


def test_an_exchange_sends_so_many_bytes() -> None:
    sampler, cut = Negatives.of(DATA), block_sweeps.ItemCut(DATA.n_items, 32, 2)
    blocks = list(block_sweeps.user_blocks(sampler))
    assert fits.user_blocks_bytes(SIZES) == nbytes(*(a for block in blocks for a in block.values()))
    sent = 0
    for block in blocks:
        for _, part in block_sweeps.roles_of_block(block, {}, block_sweeps.Draw(5, 0, 0), cut):
            sent += nbytes(*(part[name] for name in part if name != "target"))
    assert block_sweeps.role_bytes(SIZES.pairs, 5) == sent


def test_numbers_that_stand_elsewhere_too() -> None:
    waves = jobs.FIRST_WAVE, jobs.WAVE_GROWTH, jobs.WAVE_BYTES
    assert (*waves, jobs.RESULT_RATIO) == (
        spark_engine._FIRST_WAVE,
        spark_engine._GROWTH,
        spark_engine._WAVE_BYTES,
        spark_engine._RESULT_RATIO,
    )
    assert fits.RACE_PAIRS == siml_race._PAIRS


@pytest.mark.parametrize("engine", [LOCAL, SPARK])
@pytest.mark.parametrize("model", ["als", "slim", "item-knn", "siml", "bpr", "dsiml", "lightgcn"])
def test_more_data_takes_no_less(model: str, engine: str) -> None:
    large = DataSizes(200_000, 20_000, 10_000_000)
    learner = model_class(model)()
    before = forecast(given(engine, large), "fit", learner)
    for name in ("users", "items", "pairs", *(["user_spread"] if model == "slim" else [])):
        more = replace(large, **{name: 3 * getattr(large, name)})
        if name in ("users", "items"):  # the same number of pairs of each
            more = replace(more, pairs=3 * large.pairs)
        after = forecast(given(engine, more), "fit", learner)
        assert after.total_cpu_seconds >= before.total_cpu_seconds, name
        assert after.total_seconds >= before.total_seconds, name
        assert after.peak("driver") >= before.peak("driver"), name
        assert after.total_shuffle_bytes >= before.total_shuffle_bytes, name
        assert after.plan.disk >= before.plan.disk, name


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("engine", [LOCAL, SPARK])
def test_every_model_has_a_forecast(model: str, engine: str) -> None:
    found = forecast(given(engine), "fit", model_class(model)())
    assert found.total_seconds > 0
    assert found.peak("driver") > pairs_bytes(SIZES)
    if engine == SPARK and model != "popularity":
        assert sum(step.jobs for step in found.plan.steps) >= 1


def test_settings_count() -> None:
    for job in JOBS:
        few = forecast(given(), job, model_class("dsiml")(bits=64), k=10)
        many = forecast(given(), job, model_class("dsiml")(bits=256), k=50)
        assert many.plan.disk >= few.plan.disk
        assert many.total_cpu_seconds >= few.total_cpu_seconds
    base: dict[str, Any] = {"epochs": 2, "dimensions": 32}
    few = planned("als", **base)
    for more in ({"epochs": 4}, {"dimensions": 64}):
        assert planned("als", **{**base, **more}).total_cpu_seconds > few.total_cpu_seconds
    seconds = [planned("bpr", negatives=count).total_cpu_seconds for count in (2, 20)]
    assert seconds[1] > seconds[0]


@pytest.mark.parametrize("engine", [LOCAL, SPARK])
def test_an_evaluation_costs_what_its_users_cost(engine: str) -> None:
    large, model = given(engine, DataSizes(200_000, 20_000, 10_000_000)), model_class("dsiml")()
    every, tenth = (forecast(large, "evaluate", model, tested=users) for users in (None, 20_000))
    work = [one.plan.steps[-1].core_seconds for one in (every, tenth)]
    assert work[0] == pytest.approx(10 * work[1])
    assert tenth.total_shuffle_bytes <= every.total_shuffle_bytes
    most = forecast(large, "evaluate", model, tested=10**9)
    assert most.total_cpu_seconds == every.total_cpu_seconds


def test_more_executors_shorten_blocks_and_not_one_task() -> None:
    large = DataSizes(1_000_000, 50_000, 30_000_000)

    def seconds(model: Any, executors: int) -> float:
        shape = given("spark:yarn", large, executors=executors, cores=4)
        found = forecast(shape, "fit", model)
        work = [step for step in found.plan.steps if step.core_seconds and "start" not in step.name]
        return sum(step.core_seconds / min(shape.engine.slots, step.tasks) for step in work)

    blocks = model_class("dsiml")(optimizer="flip", start={"model": "als"})
    assert seconds(blocks, 16) < 0.3 * seconds(blocks, 2)
    alone = model_class("dsiml")()
    assert seconds(alone, 16) == seconds(alone, 2)


def test_what_does_not_fit_is_named_with_what_helps() -> None:
    assert forecast(given(), "fit", ALS()).to_dict()["fits"]
    huge = given(LOCAL, DataSizes(10**8, 10**7, 10**10))
    told = forecast(huge, "fit", ALS()).to_dict()
    assert not told["fits"]
    assert "GB are needed and the driver has 8.6" in told["advice"][0]
    sweeps = model_class("dsiml")(optimizer="flip", start={"model": "als"}, negatives=100)
    local = forecast(given(LOCAL, DataSizes(10**5, 10**4, 10**7)), "fit", sweeps)
    assert "fewer --negatives" in local.to_dict()["advice"][0]
    one = forecast(given(SPARK, DataSizes(10**7, 10**6, 10**9)), "fit", model_class("siml")())
    assert any("one executor" in line for line in one.to_dict()["advice"])


def test_memory_of_phases_is_not_added_up() -> None:
    found = planned("als")
    parts = [one for one in found.plan.memory if one.where == "driver"]
    phases = {one.phase for one in parts}
    assert {"read", "fit", "write"} <= phases
    assert found.peak("driver") < sum(one.bytes for one in parts)


def test_work_in_blocks_is_of_models_that_run_in_blocks() -> None:
    names = [name for name in MODELS if model_class(name).work in ("rows", "weights", "neighbours")]
    assert names
    assert all(model_class(name)().runs_on_engine for name in names)
    assert {model_class(name).work for name in MODELS} == fits.FITS.keys()
    assert np.isfinite([planned(name, SPARK).total_seconds for name in names]).all()


def never() -> Interactions:
    raise AssertionError("the data was read")


def test_points_have_the_mean_and_nearly_the_spread() -> None:
    points = counting.lognormal_points(30.0, 3.0)
    assert points.mean() == pytest.approx(30.0)
    assert np.mean(points**2) / 900.0 == pytest.approx(3.0, rel=0.2)
    assert np.allclose(counting.lognormal_points(30.0, 1.0), 30.0)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "10Q", "nan", "inf", "1e40"])
def test_a_count_that_is_none(text: str) -> None:
    with pytest.raises(OptionError, match="--pairs"):
        counting.parse_count(text, "--pairs")


def test_parquet_is_counted_and_not_read(tmp_path: Path) -> None:
    data = planted(60, 40, per_user=12)
    rows = pl.DataFrame({"shopper": data.user_rows, "sku": data.indices})
    path = tmp_path / "pairs.parquet"
    rows.write_parquet(path)
    columns = {"user_column": "shopper"}
    found = data_sizes(str(path), columns, never, whole=False)
    expected = DataSizes.of(data)
    assert (found.users, found.pairs) == (expected.users, expected.pairs)
    assert found.items == np.count_nonzero(data.item_counts)
    assert found.user_spread == pytest.approx(expected.user_spread)
    for part in range(2):
        (tmp_path / "parts").mkdir(exist_ok=True)
        rows[part::2].write_parquet(tmp_path / "parts" / f"{part}.parquet")
    assert data_sizes(str(tmp_path / "parts"), columns, never, whole=False).pairs == data.n_pairs


def test_very_many_rows_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "EXACT_ROWS", 10)
    path = tmp_path / "pairs.parquet"
    pl.DataFrame({"user": range(2000), "item": [n % 50 for n in range(2000)]}).write_parquet(path)
    found = data_sizes(str(path), {}, never, whole=False)
    assert found.pairs == 2000
    assert found.users == pytest.approx(2000, rel=0.1)
    assert found.items == pytest.approx(50, rel=0.1)


def test_what_only_reading_tells_is_read(tmp_path: Path) -> None:
    data = planted(20, 10, per_user=4)
    assert data_sizes("pairs.csv", {}, lambda: data, whole=False) == DataSizes.of(data)
    path = tmp_path / "pairs.parquet"
    pl.DataFrame({"user": [1], "item": [2]}).write_parquet(path)
    assert data_sizes(str(path), {}, lambda: data, whole=True) == DataSizes.of(data)


def test_a_named_data_set_tells_its_sizes() -> None:
    assert data_sizes("ml-20m", {}, never, whole=False).pairs > 1e7


def test_empty_and_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    pl.DataFrame({"user": [], "item": []}).write_parquet(path)
    with pytest.raises(DataError, match="no rows"):
        data_sizes(str(path), {}, never, whole=False)
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="cannot be read"):
        data_sizes(str(path), {}, never, whole=False)
