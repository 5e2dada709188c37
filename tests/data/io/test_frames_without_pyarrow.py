"""Pandas frames where pyarrow is not installed: the same ids, times and errors as with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import xorec
from xorec.core.errors import DataError

pytestmark = pytest.mark.process

DAYS = ["2024-01-02", "2024-01-01", "2023-05-01"]
COLUMNS: dict[str, Any] = {
    "numbers": [3, 1, 2],
    "fractions": [1.5, 2.5, 0.5],
    "text": ["b", "a", "c, d"],
    "objects": pd.Series(["b", "a", "c"], dtype=object),
    "string": pd.Series(["b", "a", "c"], dtype="string"),
    "category": pd.Series(["b", "a", "b"], dtype="category"),
    "numbered category": pd.Series([3, 1, 3], dtype="category"),
    "nullable": pd.Series([3, 1, 2], dtype="Int64"),
    "wide": pd.Series([2**63 + 1, 2**64 - 1, 2], dtype="UInt64"),
    "dates": pd.to_datetime(DAYS),
    "seconds": pd.to_datetime(DAYS).astype("datetime64[s]"),
    "zone": pd.to_datetime(DAYS).tz_localize("Europe/Berlin"),
    "no text": ["b", None, "c"],
    "NaN": pd.Series(["b", float("nan"), "c"], dtype=object),
    "NA": pd.Series([3, None, 2], dtype="Int64"),
    "no category": pd.Series(["b", None, "b"], dtype="category"),
    "NaT": pd.to_datetime(["2024-01-02", None, "2023-05-01"]),
}
OFFSET = pd.to_datetime([f"{day}T00:00:00+02:00" for day in DAYS])
WITHOUT_PYARROW = """
import sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *more: None if name.partition(".")[0] == "pyarrow" else find(name, *more)
)
sys.path.insert(0, sys.argv[1])
from test_frames_without_pyarrow import answers

for answer in answers():
    print(answer)
assert "pyarrow" not in sys.modules
"""


def answers() -> list[str]:
    """A line for each column: what it gives as users, and what as times."""
    lines = [f"{name}: {_read(user=column)}" for name, column in COLUMNS.items()]
    moments = [*(COLUMNS[name] for name in ("nullable", "dates", "seconds", "zone", "NaT")), OFFSET]
    return [*lines, *(f"time: {_read(time=moment)}" for moment in moments)]


def _read(**columns: Any) -> str:
    frame = pd.DataFrame({"user": [1, 2, 3], "item": ["x", "y", "z"], **columns})
    try:
        data = xorec.read(frame)
    except DataError as error:
        return str(error)
    return repr((list(data.users), None if data.times is None else data.times.tolist()))


@pytest.fixture(scope="module")
def without_pyarrow() -> list[str]:
    """The answers of a process that finds no pyarrow."""
    source = str(Path(xorec.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW, str(Path(__file__).parent)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_everything_is_as_with_pyarrow(without_pyarrow: list[str]) -> None:
    assert without_pyarrow == answers()
    assert "text: (['a', 'b', 'c, d'], None)" in without_pyarrow


@pytest.mark.parametrize("name", ["no text", "NaN", "NA", "no category", "NaT"])
def test_an_empty_id_is_refused_in_the_usual_words(name: str, without_pyarrow: list[str]) -> None:
    wanted = f"{name}: the data frame, column 'user', data row 2: the user is empty; fill it in"
    assert any(line.startswith(wanted) for line in without_pyarrow)
