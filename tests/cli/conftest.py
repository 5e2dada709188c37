from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from xorec.cli.main import app
from xorec.testing.data import planted

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run a command here; `.stdout`, `.stderr` and `.exit_code` are what a shell sees."""

    def invoke(*words: object) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


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


@pytest.fixture(scope="session")
def model(ratings: Path) -> Path:
    """A model file fitted on `ratings`."""
    path = ratings.parent / "model.xorec"
    result = CliRunner().invoke(
        app, ["fit", str(ratings), "--model", "item-knn", "-o", str(path), "--quiet"]
    )
    assert result.exit_code == 0, result.output
    return path
