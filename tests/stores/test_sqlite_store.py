from __future__ import annotations

from pathlib import Path

import pytest

from xorec.core.addresses import Address
from xorec.stores.base import Store
from xorec.stores.sqlite import SqliteStore, driver_with_extensions
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
    def address(self, folder: Path, name: str = "shop") -> str:
        return str(folder / f"{name}.sqlite")
