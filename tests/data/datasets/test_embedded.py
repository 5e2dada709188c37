"""The data set that comes with xorec: real, clean, small, and the same everywhere."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from xorec.data.datasets.catalog import CATALOG, EMBEDDED, load_data
from xorec.data.interactions import Interactions

DIGEST = "7f6bdc94828002f6245dc64802d13e54"


@pytest.fixture(scope="module")
def debian() -> Interactions:
    return load_data("debian")


def test_it_has_the_promised_shape(debian: Interactions) -> None:
    entry = CATALOG["debian"]
    sizes = (debian.n_users, debian.n_items, debian.n_pairs)
    assert (entry.users, entry.items, entry.pairs) == sizes
    assert min(debian.user_counts.min(), debian.item_counts.min()) == 5
    assert debian.digest() == DIGEST


def test_names_are_the_package_names(debian: Interactions) -> None:
    assert debian.names is not None
    assert list(debian.names) == list(debian.items)


def test_every_item_has_one_category_and_they_are_imbalanced(debian: Interactions) -> None:
    assert debian.categories is not None
    assert np.diff(debian.categories.indptr).tolist() == [1] * debian.n_items
    assert debian.categories.of(debian.items.find("zlib1g-dev")) == ["libdevel"]
    assert debian.categories.of(debian.items.find("python3-numpy")) == ["python"]
    sizes = np.sort(np.bincount(debian.categories.indices))[::-1]
    assert len(sizes) > 30
    assert sizes[0] > 0.2 * debian.n_items
    assert np.median(sizes) < 0.01 * debian.n_items


def test_it_is_small_and_loads_at_once(debian: Interactions) -> None:
    """Column by column: fewer steps of Python than a tenth of its pairs, 5,000 or so."""
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 700_000
    steps = 0

    def count(frame: Any, event: str, what: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        again = load_data("debian")
    finally:
        sys.settrace(before)
    assert again.n_pairs == debian.n_pairs
    assert 0 < steps < debian.n_pairs / 10


def test_rows_are_what_the_slow_way_gives(debian: Interactions) -> None:
    pairs = pl.read_parquet(EMBEDDED / "interactions.parquet").rows()
    assert Interactions.from_pairs(reversed(pairs)).digest() == debian.digest()
