from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.data.interactions import Interactions
from xorec.selection.plan import sizes as counting
from xorec.selection.plan.sizes import (
    DataSizes,
    data_sizes,
    given_sizes,
    lognormal_points,
    parse_count,
)
from xorec.testing.data import planted


def never() -> Interactions:
    raise AssertionError("the data was read")


def test_points_have_the_mean_and_nearly_the_spread() -> None:
    points = lognormal_points(30.0, 3.0)
    assert points.mean() == pytest.approx(30.0)
    assert np.mean(points**2) / 900.0 == pytest.approx(3.0, rel=0.2)
    assert np.allclose(lognormal_points(30.0, 1.0), 30.0)


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "10Q", "nan", "inf", "1e40"])
def test_a_count_that_is_none(text: str) -> None:
    with pytest.raises(OptionError, match="--pairs"):
        parse_count(text, "--pairs")


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="at most 6 pairs"):
        given_sizes("2", "3", "7")
    with pytest.raises(OptionError, match="--users, --items and --pairs"):
        given_sizes("2", None, "7")


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
