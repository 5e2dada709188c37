from __future__ import annotations

import pytest

from xorec.core.options import RunOptions
from xorec.lab.bench.data import BenchData
from xorec.lab.bench.everybody import Size, drawn_data
from xorec.search.hits import Exclude

Drawn = tuple[BenchData, Exclude]


@pytest.fixture(scope="session")
def drawn() -> Drawn:
    """300 users and 83 items at 20 bits; each user has seen 12."""
    return drawn_data(Size(300, 83, 12), 20, RunOptions(threads=2))


def seen_by(seen: Exclude, user: int) -> list[int]:
    indptr, indices = seen
    return [int(item) for item in indices[indptr[user] : indptr[user + 1]]]
