from __future__ import annotations

from pathlib import Path

import pytest

from xorec.testing.stores import StoreTests

pytest.importorskip("duckdb", reason="no DuckDB: pip install 'xorec[duckdb]'")


class TestDuckdb(StoreTests):
    variant = True

    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.duckdb")
