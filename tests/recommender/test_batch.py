"""Everybody's lists, in a file, are the lists that one gets one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.models.baselines.item_knn import ItemKNN
from xorec.recommender import batch
from xorec.recommender.recommender import Recommender
from xorec.search.hits import Hits
from xorec.testing.engines import InProcess

from .conftest import DATA, fitted


@pytest.fixture(scope="module", params=["codes", "floats", "vectors", "neighbours"])
def shop(request: pytest.FixtureRequest) -> Recommender:
    return fitted(request.param)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "BLOCK_HITS", 7 * 17)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("seen", [False, True])
def test_lists_of_all_users(shop: Recommender, tmp_path: Path, ending: str, seen: bool) -> None:
    path = tmp_path / f"lists.{ending}"
    written = batch.write(batch.for_all_users(shop, 7, seen=seen), path, RunOptions(threads=2)).rows
    frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
    assert len(frame) == written == 90 * 7
    for row in (0, 16, 17, 89):
        user = shop.user_ids[row]
        one = shop.recommend(user, 7, seen=seen)
        part = frame.filter(pl.col("user") == user)
        assert part["item"].to_list() == one.ids()
        assert part["rank"].to_list() == list(range(1, 8))
        scores = [i.score for i in one.items]
        np.testing.assert_allclose(part["score"], scores, rtol=1e-5, atol=1e-6)  # some are near 0
        own = set(DATA.items.take(DATA.of_user(row)))
        assert bool(own & set(one.ids())) == seen
    assert ("distance" in frame.columns) == (one.items[0].distance is not None)


def test_lists_of_all_items(shop: Recommender, tmp_path: Path) -> None:
    path = tmp_path / "alike.parquet"
    batch.write(batch.for_all_items(shop, 5), path)
    frame = pl.read_parquet(path)
    assert (frame["item"] != frame["similar"]).all()
    for row in (0, 31, 59):
        item = shop.item_ids[row]
        alike = frame.filter(pl.col("item") == item)
        assert alike["similar"].to_list() == shop.similar(item, 5).ids()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_other_processes_find_the_same_lists(
    shop: Recommender, tmp_path: Path, ending: str
) -> None:
    few, denied = shop.item_filter([*shop.item_ids][:40]), [shop.item_ids[3], shop.item_ids[8]]
    here, there = tmp_path / f"here.{ending}", tmp_path / f"there.{ending}"
    for job in (
        batch.for_all_users(shop, 7),
        batch.for_all_users(shop, 7, seen=True, allow=few, deny=denied),
        batch.for_all_items(shop, 5),
    ):
        one = batch.write(job, here, RunOptions(threads=2))
        other = batch.write(job, there, RunOptions(engine=InProcess(2)))
        assert here.read_bytes() == there.read_bytes()
        assert (one.lists, one.rows) == (other.lists, other.rows)


def test_other_processes_load_the_model_once_and_are_sent_nothing_but_spans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = fitted("neighbours")
    loaded, load, engine = [], Recommender.load, InProcess(1)

    def counted(*arguments: Any, **more: Any) -> Recommender:
        loaded.append(arguments)
        return load(*arguments, **more)

    monkeypatch.setattr(Recommender, "load", counted)
    options = RunOptions(engine=engine)
    assert batch.write(batch.for_all_users(shop, 7), tmp_path / "a.csv", options).lists == 90
    assert len(loaded) == 1
    (sent,) = engine.sent
    assert [tuple(block["span"]) for block in sent] == [
        (begin, min(90, begin + 17)) for begin in range(0, 90, 17)
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_stand_beside_the_items(tmp_path: Path, ending: str) -> None:
    shop = replace(fitted("neighbours"), names=Text.pack(f"Nome, {item}" for item in range(60)))
    path = tmp_path / f"lists.{ending}"
    for job, asked, listed in (
        (batch.for_all_users(shop, 7), "user", "item"),
        (batch.for_all_items(shop, 3), "item", "similar"),
    ):
        batch.write(job, path)
        frame = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
        assert frame.columns == [asked, "rank", listed, "name", "score"]
        assert frame["name"].to_list() == [f"Nome, {item - 1000}" for item in frame[listed]]


def test_fewer_than_k_where_there_are_no_more(tmp_path: Path) -> None:
    pairs = [("a", "x"), ("a", "y"), ("a", "z"), ("b", "x")]
    data = Interactions.from_pairs(pairs)
    shop = Recommender.from_model(ItemKNN().fit(data), data)
    path = tmp_path / "lists.csv"
    assert batch.write(batch.for_all_users(shop, 10), path).rows == 2
    frame = pl.read_csv(path)
    assert frame["user"].to_list() == ["b", "b"]
    assert set(frame["item"].to_list()) == {"y", "z"}


def test_nothing_is_left_where_writing_fails(shop: Recommender, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.parquet or \.csv"):
        batch.write(batch.for_all_users(shop, 3), tmp_path / "lists.txt")
    lists, calls = batch.for_all_users(shop, 7), []

    def fails(rows: batch.Rows, threads: int) -> Hits:
        calls.append(rows)
        if len(calls) > 3:
            raise RuntimeError("in the middle")
        return lists.search(rows, threads)

    broken = replace(lists, search=fails)
    with pytest.raises(Exception, match="in the middle"):
        batch.write(broken, tmp_path / "lists.parquet")
    assert not list(tmp_path.iterdir())
