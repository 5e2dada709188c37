"""`compare --frontier`: the picture of the trade, beside the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run
from .test_errors import refused

pytest.importorskip("matplotlib")
QUICK = (
    *("--dsiml.epochs", 1, "--dsiml.start.epochs", 1, "--dsiml.optimizer", "none"),
    *("--siml.epochs", 1, "--blend.start.epochs", 1, "--slim.neighbours", 10),
)


@pytest.mark.parametrize("width", [80, 120])
def test_the_ladder_is_compared_and_drawn(
    run: Run, ratings: Path, tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    words = ("compare", ratings, "--frontier", tmp_path / "trade", *QUICK, "--bits", "16", "-q")
    table = run(*words).stdout
    assert (tmp_path / "trade.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "trade.svg").read_text().count("dsiml 64 shortlist=200") == 2
    heads = table.splitlines()[0].split()
    assert {"NDCG@10", "B/item", "us"} <= {*heads}
    shown = [line.split("  ")[0].strip() for line in table.splitlines()]
    assert shown.index("popularity") < shown.index("dsiml 16") < shown.index("blend 64")
    lines = [line for line in table.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= width
    assert "Picture: " in table


def test_rows_have_their_bytes_and_json_names_the_files(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    models = (
        "--models",
        "popularity,slim,slim:weight_dtype=int8",
        "--frontier",
        tmp_path / "a.svg",
    )
    answer = json.loads(run("compare", ratings, *models, "-q", "--json").stdout)
    assert answer["frontier"] == [str(tmp_path / "a.png"), str(tmp_path / "a.svg")]
    popularity, floats, small = (row["bytes_per_item"] for row in answer["rows"])
    assert popularity == 8
    assert small < 0.6 * floats
    assert (tmp_path / "a.png").exists()
    without = json.loads(run("compare", ratings, "--models", "slim", "-q", "--json").stdout)
    assert "frontier" not in without
    assert without["rows"][0]["bytes_per_item"] == floats


def test_a_wrong_ending_is_refused(run: Run, ratings: Path) -> None:
    refused(run("compare", ratings, "--frontier", "a.pdf", "-q"), "a.pdf", ".png or .svg")


def test_without_matplotlib_one_line_says_what_to_install(
    run: Run, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(run("compare", ratings, "--frontier", "a", "-q"), "pip install 'xorec[plots]'")
