"""Settings of single rows in `compare`, its metrics, how it fits the width; and the demo."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from xorec.cli import demo
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused, width_of


def test_a_row_with_settings_of_its_own(run: Run, ratings: Path) -> None:
    models = "item-knn,item-knn:neighbours=1,bpr:epochs=1:dimensions=4"
    words = ("compare", ratings, "--models", models, "-q")
    rows = run.json(*words, "--item-knn.shrink", 3)["rows"]
    assert [row["label"] for row in rows] == [
        *("item-knn", "item-knn neighbours=1", "bpr epochs=1 dimensions=4")
    ]
    assert [row["model"] for row in rows] == ["item-knn", "item-knn", "bpr"]
    assert rows[2]["dimensions"] == 4
    assert rows[0]["ndcg@10"] != rows[1]["ndcg@10"]
    plain = run.json("compare", ratings, "--models", "item-knn")
    assert plain["rows"][0]["ndcg@10"] != rows[0]["ndcg@10"]  # without --item-knn.shrink
    table = run(*words).stdout
    assert "neighbours=1" in table
    assert width_of(table) <= 80


def test_plain_and_two_stage_codes_stand_in_one_table(run: Run, ratings: Path) -> None:
    quick = ("--dsiml.epochs", 1, "--dsiml.start.epochs", 2, "--dsiml.optimizer", "none")
    words = ("--models", "dsiml,dsiml:shortlist=20", "--bits", "16,32", *quick)
    rows = run.json("compare", ratings, *words)["rows"]
    assert [row["label"] for row in rows] == [
        *("dsiml 16", "dsiml 32", "dsiml 16 shortlist=20", "dsiml 32 shortlist=20")
    ]
    assert rows[2]["bytes"] > rows[0]["bytes"]


def test_a_setting_without_its_model_is_told_the_way(run: Run, ratings: Path) -> None:
    both = ("compare", ratings, "--models", "bpr,dsiml", "-q")
    refused(run(*both, "--shortlist", 200), "--dsiml.shortlist 200", "dsiml:shortlist=200")
    refused(run(*both, "--shortlst", 200), "'--dsiml.shortlist'?")
    refused(run(*both, "--dsiml.shortlst", 200), "dsiml has no setting 'shortlst'", "shortlist'?")
    refused(run(*both, "--siml.epochs", 2), "siml is not among the models compared")
    refused(run("compare", ratings, "--models", "dsiml:bits", "-q"), "dsiml:setting=value")
    refused(run("compare", ratings, "--models", "bpr:dims=3", "-q"), "'dimensions'?")


@pytest.mark.parametrize("width", [80, 120])
def test_recall_is_in_the_table_and_columns_fit(
    run: Run, ratings: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    models = "popularity,item-knn,item-knn:neighbours=40:shrink=7.5"
    table = run("compare", ratings, "--models", models, "-q").stdout
    heads = table.splitlines()[0].split()
    assert heads[:2] == ["model", "NDCG@10"]
    assert {"Recall@10", "HR@10", "us"} <= {*heads}
    assert ("cover" in heads) == (width == 120)
    assert width_of(table) <= width


def test_metrics_are_chosen(run: Run, ratings: Path, model: Path, tmp_path: Path) -> None:
    words = ("--metrics", "recall@7,ndcg@10,mrr@5", "-q")
    compared = run("compare", ratings, "--models", "popularity,item-knn", *words)
    heads = compared.stdout.splitlines()[0].split()
    assert heads[:6] == ["model", "Recall@7", "95", "%", "p", "NDCG@10"]
    assert "HR@10" not in heads
    found = run.json("compare", ratings, "--models", "popularity", *words)
    row = found["rows"][0]
    assert row["recall@7_low"] <= row["recall@7"] <= row["recall@7_high"]
    assert {"ndcg@10_low", "mrr@5", "recall@20"} <= {*row}
    out = tmp_path / "m.xorec"
    run("fit", ratings, "--model", "item-knn", "--test", 0.2, "-o", out, "-q")
    table = run("evaluate", out, *words).stdout.splitlines()
    assert [line.split()[0] for line in table[-3:]] == ["recall@7", "ndcg@10", "mrr@5"]


RUNGS = (
    *("--dsiml.epochs", 1, "--dsiml.start.epochs", 1, "--dsiml.optimizer", "none"),
    *("--siml.epochs", 1, "--blend.start.epochs", 1, "--slim.neighbours", 10),
)


@pytest.mark.parametrize("width", [80, 120])
def test_the_ladder_is_compared_and_drawn(
    run: Run, ratings: Path, tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    words = ("compare", ratings, "--frontier", tmp_path / "trade", *RUNGS, "--bits", "16", "-q")
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
    models = ("--models", "popularity,slim,slim:weight_dtype=int8")
    answer = run.json("compare", ratings, *models, "--frontier", tmp_path / "a.svg")
    assert answer["frontier"] == [str(tmp_path / "a.png"), str(tmp_path / "a.svg")]
    popularity, floats, small = (row["bytes_per_item"] for row in answer["rows"])
    assert popularity == 8
    assert small < 0.6 * floats
    assert (tmp_path / "a.png").exists()
    without = run.json("compare", ratings, "--models", "slim")
    assert "frontier" not in without
    assert without["rows"][0]["bytes_per_item"] == floats


def test_a_wrong_ending_and_no_matplotlib_are_refused(
    run: Run, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(run("compare", ratings, "--frontier", "a.pdf", "-q"), "a.pdf", ".png or .svg")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused(run("compare", ratings, "--frontier", "a", "-q"), "pip install 'xorec[plots]'")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of the demo that take a moment."""
    start = {"epochs": 2, "negatives": 5, "alpha": 0.0, "temperature": 4.0, "form": "npair"}
    settings = {"dsiml": {"optimizer": "none", "start": start}, "blend": {"start": start}}
    monkeypatch.setattr(demo, "_MODELS", ("popularity", "dsiml", "blend:bits=64"))
    monkeypatch.setattr(demo, "_SETTINGS", settings)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("quick")
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


@pytest.mark.exhaustive
@pytest.mark.usefixtures("quick")
def test_with_serve_the_model_of_the_demo_is_served(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    monkeypatch.setattr(demo, "start_service", served.append)
    run("demo", "--output", tmp_path, "-q", "--serve")
    assert served[0].files == {"default": tmp_path / "debian.xorec"}


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
