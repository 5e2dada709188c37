"""Options for weights of pairs and for categories of items, in every command that has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xorec.models import MODELS, model_class
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused


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


@pytest.fixture(scope="module")
def info(ratings: Path) -> Path:
    """Genres of the items 1000 to 1079, with commas."""
    labels = (("Two", 2), ("Three", 3), ("Sci-Fi, Fantasy", 5))
    path = ratings.parent / "genres.tsv"
    rows = [
        f"{item}\t{', '.join(label for label, n in labels if item % n == 0)}"
        for item in range(1000, 1080)
    ]
    path.write_text("\n".join(["item\tgenre", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def genres(run: Run, ratings: Path, info: Path) -> Path:
    """A model file with categories."""
    path = ratings.parent / "genres.xorec"
    result = run.ok("fit", ratings, "--item-info", info, "--model", "item-knn", "-o", path)
    assert "categories split at ',': 4" in result.stderr
    return path


def test_one_list_and_all_lists(run: Run, genres: Path, tmp_path: Path) -> None:
    """The options are those of `in_category`."""
    lists, shop = tmp_path / "lists.csv", Recommender.load(genres)
    either = ("--category", "Three", "--category", "Fantasy", "--not-category", "Two")
    words = (*either, "--allow", "1003,1005,1008,1011,1015,1017", "--deny", 1005, "-k", 4)
    allowed = [1003, 1005, 1008, 1011, 1015, 1017]
    chosen = shop.in_category(["Three", "Fantasy"], not_in="Two", allow=allowed)
    rules: dict[str, Any] = {"allow": chosen, "deny": [1005]}
    found = run.json("recommend", genres, "--user", "u7", *words)["items"]
    assert [item["id"] for item in found] == shop.recommend("u7", 4, **rules).ids()
    found = run.json("recommend", genres, "--items", "1008,1001", *words)["items"]
    assert [item["id"] for item in found] == shop.recommend_for([1008, 1001], 4, **rules).ids()
    assert {item["id"] for item in found} == {1011, 1015, 1017}
    run.ok("recommend", genres, "--all-users", *words, "-o", lists, "-q")
    rows = [line.split(",") for line in lists.read_text().splitlines()[1:]]
    for user in ("u0", "u7", "u119"):
        own = [int(row[2]) for row in rows if row[0] == user]
        assert own == shop.recommend(user, 4, **rules).ids()


def test_what_is_wrong_is_one_line(run: Run, genres: Path, model: Path) -> None:
    refused(
        run("recommend", genres, "--user", "u7", "--category", "fantasy"),
        "no category 'fantasy'. Did you mean 'Fantasy'? There are: Fantasy, Sci",
    )
    refused(
        run("recommend", model, "--user", "u7", "--not-category", "Two"),
        "the model has no categories of items",
    )


def test_how_many_there_are_is_told(run: Run, ratings: Path, info: Path, genres: Path) -> None:
    assert run.json("doctor", genres)["categories"] == 4
    told = run("data", "info", ratings, "--item-info", info).stdout.splitlines()
    assert ["categories", "4"] in [line.split() for line in told]


def test_an_update_brings_names_and_categories_of_new_items(
    run: Run, genres: Path, tmp_path: Path
) -> None:
    more, about, out = tmp_path / "more.csv", tmp_path / "about.csv", tmp_path / "n.xorec"
    more.write_text("user_id,item_id\nu7,2000\nu8,2001\n")
    about.write_text("item,genre\n2000,Three|New\n")
    run.ok("update", genres, more, "--item-info", about, "-o", out, "-q")
    after = Recommender.load(out)
    assert after.categories is not None
    assert after.categories.of(80) == ["New", "Three"]
    assert after.categories.of(81) == []
