from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xorec.cli.output import show_bytes
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused


def test_without_a_model_recipes_race(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    result = run.ok("fit", ratings, "--trials", 2, "-o", out)
    assert "tried" in result.stdout
    assert "bytes/item" in result.stdout
    why = Recommender.load(out).metadata["race"]["why"]
    assert result.output.count(f"taken: {why}.") == 1
    assert result.output.count(why.split(":", 1)[1]) == 1
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "m.xorec" not in line)
    assert "more: with --json" not in result.stdout


def test_of_many_trials_few_are_shown(run: Run, ratings: Path, tmp_path: Path) -> None:
    """The one that was taken first, five others, the baseline; the rest is counted."""
    out = tmp_path / "m.xorec"
    result = run.ok("fit", ratings, "--target", "bytes=9", "--trials", 11, "-q", "-o", out)
    table = result.stdout.partition("taken: ")[0].splitlines()
    assert table[2].rstrip().endswith("taken")
    models = [line.split()[0] for line in table[2:] if line[:1].isalpha() and "0." in line]
    assert len(models) == 7
    assert models.count("popularity") == 1
    assert '4 more: with --json, or metadata["race"]["rows"] of the file.' in result.stdout
    assert len(Recommender.load(out).metadata["race"]["rows"]) == 11


def test_fit_tells_the_size_of_the_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    result = run("fit", ratings, "--model", "popularity", "-q", "-o", out)
    assert f"{out}: popularity, {show_bytes(out.stat().st_size)}, " in result.stdout
    result = run("fit", ratings, "--model", "popularity", "-q", "--json", "-o", out)
    assert json.loads(result.stdout)["rows"][0]["file_bytes"] == out.stat().st_size


def test_equal_trials_give_equal_files(run: Run, ratings: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        words = ("--trials", 2, "--threads", 1 + (name == "b"), "-q", "-o", tmp_path / name)
        run.ok("fit", ratings, *words)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epochs", 3), "--epochs is no option of fit without a model"),
        (("--trials", 2, "--budget", 1), "not both"),
        (("--target", "bits=3"), "give ndcg, bytes=16 or us=50"),
        (("--model", "bpr", "--trials", 2), "leave out --model bpr"),
        (("--model", "bpr", "--target", "us=5"), "--target is for finding"),
        (("--budget", 0), "budget is 0"),
    ],
)
def test_what_does_not_go_together(
    run: Run, ratings: Path, tmp_path: Path, words: tuple[Any, ...], said: str
) -> None:
    refused(run("fit", ratings, *words, "-o", tmp_path / "m", "-q"), said)
