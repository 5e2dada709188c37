from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.planted_shop import item_knn
from tests.support.service_in_process import Served, served


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(item_knn(), tmp_path) as ask:
        yield ask
