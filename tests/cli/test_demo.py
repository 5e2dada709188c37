"""The demo, with models that take a moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xorec.cli import demo
from xorec.recommender.recommender import Recommender

from .conftest import Run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_MODELS", ("popularity", "dsiml"))
    monkeypatch.setattr(demo, "_SETTINGS", {"dsiml": {"epochs": 1, "start": {"epochs": 2}}})


def test_the_demo_shows_codes_and_marks_what_was_hidden(run: Run, tmp_path: Path) -> None:
    answer = json.loads(run("demo", "--output", tmp_path, "--json", "-q").stdout)
    assert [(row["model"], row.get("bits")) for row in answer["rows"]] == [
        ("popularity", None),
        ("dsiml", 32),
        ("dsiml", 64),
    ]
    assert all(row["bytes"] > 0 and row["us_per_query"] > 0 for row in answer["rows"])
    shop = Recommender.load(tmp_path / "debian.xorec")
    assert shop.metadata["codes"]["bits"] == 64
    best = shop.recommend("vlc", 10)
    assert [item["id"] for item in answer["items"]] == best.ids()
    assert [item["distance"] for item in answer["items"]] == [one.distance for one in best.items]
    assert not set(answer["known"]) & set(best.ids())
    assert answer["why"]["item"] == best.ids()[0]
    assert {one["id"] for one in answer["why"]["because"]} <= set(answer["known"])


def test_the_demo_fits_80_columns_and_explains(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_SETTINGS", {"dsiml": {"optimizer": "none", "start": {"epochs": 1}}})
    text = run("demo", "--output", tmp_path, "-q").stdout
    assert max(len(line.rstrip()) for line in text.splitlines() if str(tmp_path) not in line) <= 80
    assert "of 64 bits agree" in text
    assert "xorec explain" in text
