"""What reads data by itself takes the options of `read`, and refuses those that are of no use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xorec
from xorec.core.errors import DataError, OptionError
from xorec.data.io.read import ReadOptions

PAIRS = [(user, item) for user in range(30) for item in range(user % 4, 20, 4)]
READERS: dict[str, Callable[..., Any]] = {
    "fit": lambda data, **reading: len(xorec.fit(data, trials=1, **reading).user_ids),
    "split": lambda data, **reading: xorec.split(data, **reading).train.n_users,
    "folds": lambda data, **reading: next(xorec.folds(data, 2, **reading)).train.n_users,
    "prepare": lambda data, **reading: xorec.prepare(data, **reading).n_users,
    "tune": lambda data, **reading: len(
        xorec.tune("item-knn", data, trials=1, **reading).trials * 30
    ),
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file whose columns cannot be guessed."""
    lines = [f"{place};{user};{item}" for place, (user, item) in enumerate(PAIRS)]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["row;who;what", *lines]))
    return path


def test_the_docstring_of_read_says_what_each_is() -> None:
    assert all(name in str(xorec.read.__doc__) for name in ReadOptions.__annotations__)


@pytest.mark.parametrize("name", READERS)
def test_columns_reach_what_reads(name: str, shop: Path) -> None:
    with pytest.raises(DataError, match="which column holds the users"):
        READERS[name](shop)
    assert READERS[name](shop, user_column="who", item_column="what") == 30


@pytest.mark.parametrize("name", READERS)
def test_nothing_is_said_of_how_to_read_what_is_read(name: str) -> None:
    with pytest.raises(OptionError, match="Interactions, read already: leave user_column out"):
        READERS[name](xorec.read(PAIRS), user_column="who")


@pytest.mark.parametrize("name", READERS)
def test_a_name_that_read_does_not_have(name: str) -> None:
    with pytest.raises(OptionError, match=r"no option 'usr_column'.*Did you mean 'user_column'"):
        READERS[name](PAIRS, usr_column="who")


def test_a_split_is_read_already() -> None:
    with pytest.raises(OptionError, match="this is a split, read already: leave time_column out"):
        xorec.tune("item-knn", xorec.split(PAIRS, validation=0.1), time_column="when")


def test_a_named_data_set_knows_its_columns() -> None:
    with pytest.raises(OptionError, match="debian is a named data set and knows its columns"):
        xorec.split("debian", user_column="who")
