"""Stores that are databases in a file: SQLite and DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from xorec.core.addresses import Address
from xorec.core.errors import XorecError
from xorec.core.locks import locked
from xorec.stores.base import Store
from xorec.stores.contents import contents_of
from xorec.stores.registry import open_store
from xorec.stores.sqlite import SqliteStore, driver_with_extensions
from xorec.stores.tables import Batch
from xorec.testing.store_models import codes, recommender_of
from xorec.testing.stores import StoreTests


class TestPlain(StoreTests):
    """Without sqlite-vec: our own function compares codes."""

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.sqlite")

    def open_store(self, folder: Path, name: str = "shop") -> Store:
        path = Path(self.address(folder, name))
        return SqliteStore(Address("sqlite", path=path), with_extension=False)


@pytest.mark.skipif(
    driver_with_extensions() is None,
    reason="no sqlite-vec, or no driver that loads extensions: pip install 'xorec[sqlite]'",
)
class TestSqliteVec(StoreTests):
    variant = True

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.sqlite")


class TestDuckdb(StoreTests):
    variant = True

    @pytest.fixture(autouse=True)
    def _needs_duckdb(self) -> None:
        pytest.importorskip("duckdb", reason="no DuckDB: pip install 'xorec[duckdb]'")

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.duckdb")


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_nobody_else_exports_meanwhile(ending: str, tmp_path: Path) -> None:
    """Two would fill the same staged tables."""
    if ending == "duckdb":
        pytest.importorskip("duckdb")
    path, refused = tmp_path / f"shop.{ending}", list[str]()
    contents = contents_of(recommender_of(codes(20)), users=True)

    def take() -> None:
        with locked(path, wait=0):
            pass

    def batches() -> Iterator[Batch]:
        with ThreadPoolExecutor(1) as other, pytest.raises(XorecError, match="is writing"):
            other.submit(take).result()
        refused.append(ending)
        yield from contents.tables[-1].batches()

    tables = *contents.tables[:-1], replace(contents.tables[-1], batches=batches)
    with open_store(str(path)) as store:
        store.write(replace(contents, tables=tables))
    assert refused == [ending]
    take()
