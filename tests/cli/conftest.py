from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from xorec.cli.main import app
from xorec.testing.data import planted


class Run:
    """Runs a command here; `.stdout`, `.stderr` and `.exit_code` are what a shell sees."""

    def __call__(self, *words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    def ok(self, *words: object) -> Result:
        """Of a command that succeeds."""
        result = self(*words)
        assert result.exit_code == 0, result.output
        return result

    def json(self, *words: object) -> Any:
        """The object that a command prints with --json."""
        return json.loads(self.ok(*words, "--json").stdout)


def refused(result: Result, *words: str) -> None:
    """One line on standard error with these words, exit code 2, no traceback."""
    text = result.stderr
    assert result.exit_code == 2, text
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if line.startswith("error:")]
    assert len(lines) == 1, text
    for word in words:
        assert word in lines[0], lines[0]


def width_of(text: str) -> int:
    """Characters of the longest line."""
    return max(map(len, text.splitlines()))


@pytest.fixture(scope="session")
def run() -> Run:
    return Run()


@pytest.fixture(scope="session")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV of planted interactions with ratings."""
    data = planted(120, 80, per_user=15)
    lines = ["user_id,item_id,rating"]
    for place, (user, item) in enumerate(zip(data.user_rows, data.indices, strict=True)):
        lines.append(f"u{user},{data.items[int(item)]},{1 + place % 5}")
    path = tmp_path_factory.mktemp("data") / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def given(ratings: Path, tmp_path: Path) -> Path:
    """The ratings with a column that says train or test: 450 of 1,800 pairs are the test part."""
    head, *lines = ratings.read_text().splitlines()
    split = [f"{line},{'test' if n % 4 == 0 else 'train'}" for n, line in enumerate(lines)]
    path = tmp_path / "given.csv"
    path.write_text("\n".join([f"{head},fold", *split]) + "\n")
    return path


@pytest.fixture(scope="session")
def model(run: Run, ratings: Path) -> Path:
    """A model file fitted on `ratings`."""
    path = ratings.parent / "model.xorec"
    run.ok("fit", ratings, "--model", "item-knn", "-o", path, "-q")
    return path
