"""The demo, with models that take a moment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from xorec.cli import demo
from xorec.recommender.recommender import Recommender

from .conftest import Run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    start = {"epochs": 2, "negatives": 5, "alpha": 0.0, "temperature": 4.0, "form": "npair"}
    settings = {"dsiml": {"optimizer": "none", "start": start}, "blend": {"start": start}}
    monkeypatch.setattr(demo, "_MODELS", ("popularity", "dsiml", "blend:bits=64"))
    monkeypatch.setattr(demo, "_SETTINGS", settings)


@pytest.mark.exhaustive
def test_the_demo_ends_with_the_served_recipe_and_marks_what_was_hidden(
    run: Run, tmp_path: Path
) -> None:
    answer = run.json("demo", "--output", tmp_path)
    check_text(run("demo", "--output", tmp_path, "-q").stdout, tmp_path, answer["rows"])
    assert [(row["model"], row.get("bits")) for row in answer["rows"]] == [
        ("popularity", None),
        ("dsiml", 32),
        ("dsiml", 64),
        ("blend", 64),
    ]
    assert all(row["bytes_per_item"] > 0 and row["us_per_query"] > 0 for row in answer["rows"])
    shop = Recommender.load(tmp_path / "debian.xorec")
    assert shop.metadata["model"] == "blend"
    best = shop.recommend("vlc", 10)
    assert [item["id"] for item in answer["items"]] == best.ids()
    assert [item["score"] for item in answer["items"]] == [one.score for one in best.items]
    assert not set(answer["known"]) & set(best.ids())
    assert answer["why"]["item"] == best.ids()[0]
    assert {one["id"] for one in answer["why"]["because"]} <= set(answer["known"])


def check_text(text: str, folder: Path, rows: list[dict[str, Any]]) -> None:
    """It fits 80 columns and says what is gained."""
    assert max(len(line.rstrip()) for line in text.splitlines() if str(folder) not in line) <= 80
    assert "of 64 bits of the two codes agree" in text.replace("\n", " ")
    assert "xorec explain" in text
    assert text.rstrip().endswith("xorec fit your.csv -o shop.xorec")
    assert "HR: that share of all hidden pairs" in text
    others = [row for row in rows if row["model"] != "blend"]
    best = max(others, key=lambda row: row["hr@10"])
    said = re.search(
        r"blend finds (\d+)% (more|fewer) of .* than (.*?), the best", text.replace("\n", " ")
    )
    assert said is not None
    assert said[3] == best["label"]
    gain = 100 * (rows[-1]["hr@10"] / best["hr@10"] - 1)
    assert (1 if said[2] == "more" else -1) * int(said[1]) == pytest.approx(gain, abs=1)


def test_commands_to_try_are_found_by_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make demo` runs it, from a venv that is not active, and where it is on the path."""
    monkeypatch.setattr("sys.argv", [".venv/bin/xorec", "demo"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert demo._this_command() == ".venv/bin/xorec"
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert demo._this_command() == "xorec"
