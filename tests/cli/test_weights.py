from __future__ import annotations

from pathlib import Path

import pytest

from xorec.models import MODELS, model_class
from xorec.recommender.recommender import Recommender

from .conftest import Run


@pytest.fixture
def plays(tmp_path: Path, ratings: Path) -> Path:
    """The planted pairs with how often each was played, under names of somebody's own."""
    lines = ["User_ID,Song_Key_ID,times,comment"]
    for number, line in enumerate(ratings.read_text().splitlines()[1:]):
        user, item, _ = line.split(",")
        lines.append(f"{user},{item},{1 + number**2 % 500},x")
    path = tmp_path / "plays.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    "command", ["fit", "compare", "tune", "evaluate", "update", "data info", "reproduce"]
)
def test_every_command_that_reads_data_takes_weights(run: Run, command: str) -> None:
    shown = run(*command.split(), "--help").stdout
    assert "--weight-column" in shown
    assert "--weight-scale" in shown


def test_als_learns_from_counts(run: Run, plays: Path, tmp_path: Path) -> None:
    models = {}
    for name, words in {"bare": (), "counts": ("--weight-column", "times")}.items():
        out = tmp_path / f"{name}.xorec"
        result = run.ok("fit", plays, "--model", "als", "--epochs", 2, "-o", out, *words)
        models[name] = Recommender.load(out)
    said = " ".join(result.stderr.split())
    assert "columns guessed: user = User_ID, item = Song_Key_ID; not used: comment" in said
    assert "weights from 1 to 497, on a log scale" in said
    bare, counts = (models[name].metadata["data"] for name in ("bare", "counts"))
    assert bare["pairs"] == counts["pairs"]
    assert bare["digest"] != counts["digest"]
    assert models["bare"].recommend("u0") != models["counts"].recommend("u0")


def test_a_model_without_use_for_weights_says_so(run: Run, plays: Path, tmp_path: Path) -> None:
    words = ("--model", "dcf", "--bits", 8, "--epochs", 1, "-o", tmp_path / "m.xorec")
    result = run("fit", plays, "--weight-column", "times", *words)
    assert "dcf does not use weights: every pair counts the same." in " ".join(
        result.stderr.split()
    )


def test_an_update_says_that_it_counts_pairs_alike(run: Run, plays: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    weights = ("--weight-column", "times")
    run("fit", plays, "--model", "als", "--epochs", 1, "-o", out, *weights)
    more = tmp_path / "more.csv"
    more.write_text("User_ID,Song_Key_ID,times\nu0,1000,5\nnew,1001,7\n")
    result = run.ok("update", out, more, *weights)
    assert "an update counts every new pair the same" in " ".join(result.stderr.split())


def test_models_tells_what_weights_do(run: Run) -> None:
    assert (
        "Weights of pairs: the error of a pair counts as its weight" in run("models", "als").stdout
    )
    assert "Weights of pairs: not used." in run("models", "dcf").stdout
    told = {name: run.json("models", name)["weights"] for name in MODELS}
    assert told == {name: model_class(name).weighting for name in MODELS}


def test_ratings_are_said_to_be_positive_unless_there_is_a_threshold(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    words = ("fit", ratings, "--model", "popularity", "-o", tmp_path / "m.xorec")
    note = "every rating counts as positive, 1 to 5; min_rating 4 (--min-rating) would keep 40 %"
    assert note in " ".join(run(*words).stderr.split())
    assert "counts as positive" not in run(*words, "--min-rating", 4).stderr
    assert note in run.json("data", "info", ratings)["notes"]
