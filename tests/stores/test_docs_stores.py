"""docs/stores.md: its SQL is what `xorec export --sql` prints, and runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.stores.contents import contents_of
from xorec.stores.registry import open_store
from xorec.stores.sqlite import driver_with_extensions
from xorec.testing.store_models import codes, recommender_of, two_stage

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
SQL = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.M | re.S)


def block(beginning: str) -> str:
    (found,) = [str(text) for text in SQL if text.startswith(beginning)]
    return found.partition("\n")[2].rstrip()


@pytest.mark.parametrize("address", ["shop.sqlite", "shop.duckdb", "clickhouse://127.0.0.1/shop"])
def test_the_text_is_what_is_printed(address: str) -> None:
    if address == "shop.sqlite" and driver_with_extensions() is None:
        pytest.skip("no sqlite-vec: pip install 'xorec[sqlite]'")
    shop = recommender_of(codes(64, 5, 5), names=[*"abcde"])
    with open_store(address) as store:
        text = str(store.sql(contents_of(shop, users=True)))
    assert block(f"-- xorec export shop.xorec --to {address} --users --sql") == text


def test_duckdb_asks_a_folder_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="no DuckDB: pip install 'xorec[duckdb]'")
    monkeypatch.chdir(tmp_path)
    shop = recommender_of(codes(64, distinct=9))
    with open_store("shop.parquet") as store:
        store.write(contents_of(shop, users=True))
    for user in shop.user_ids:
        rows = duckdb.execute(block("-- DuckDB, asking files"), {"user": user, "k": 10}).fetchall()
        assert [row[0] for row in rows] == shop.recommend(user, 10).ids()


def test_two_stages_in_sql(tmp_path: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb", reason="no DuckDB: pip install 'xorec[duckdb]'")
    learned = two_stage()
    shop = recommender_of(learned)
    path = tmp_path / "shop.duckdb"
    with open_store(str(path)) as store:
        store.write(contents_of(shop, users=True))
    near, best, *_ = learned.sources
    asked = {"near": near, "best": best, "blend": float(learned.blend), "k": 10}
    with duckdb.connect(str(path), read_only=True) as connection:
        for user in shop.user_ids:
            rows = connection.execute(block("-- DuckDB: the $near"), {**asked, "user": user})
            found = rows.fetchall()
            expected = shop.recommend(user, 10)
            scores = [one.score for one in expected.items]
            np.testing.assert_allclose([row[1] for row in found], scores, rtol=1e-5, atol=1e-5)
            assert len({*(row[0] for row in found)} & {*expected.ids()}) >= 9
