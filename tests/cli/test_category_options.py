"""--category and --not-category: for one user, for somebody new and for everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused


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
def genres(ratings: Path, info: Path) -> Path:
    """A model file with categories."""
    path = ratings.parent / "genres.xorec"
    words = ["fit", ratings, "--item-info", info, "--model", "item-knn", "-o", path]
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    assert "categories split at ',': 4" in result.stderr
    return path


@pytest.mark.parametrize("asker", [("--user", "u7"), ("--items", "1008,1003")])
def test_one_list(run: Run, genres: Path, asker: tuple[str, str]) -> None:
    def listed(*words: object) -> list[int]:
        result = run.ok("recommend", genres, *asker, "-k", 80, "--json", *words)
        return [item["id"] for item in json.loads(result.stdout)["items"]]

    everything = listed()
    assert listed("--category", "Three") == [i for i in everything if i % 3 == 0]
    either = ("--category", "Three", "--category", "Fantasy")
    assert listed(*either) == [i for i in everything if i % 3 == 0 or i % 5 == 0]
    assert listed(*either, "--not-category", "Two") == [
        i for i in everything if (i % 3 == 0 or i % 5 == 0) and i % 2
    ]
    assert listed("--not-category", "Two", "--not-category", "Three") == [
        i for i in everything if i % 2 and i % 3
    ]
    some = [i for i in everything if i % 3 == 0][:4]
    given = ("--allow", ",".join(map(str, [*some, 1001])), "--deny", some[0])
    assert listed("--category", "Three", *given) == some[1:]


def test_everybody(run: Run, genres: Path, tmp_path: Path) -> None:
    lists, shop = tmp_path / "lists.csv", Recommender.load(genres)
    words = ("--category", "Three", "--not-category", "Two", "--deny", 1005)
    run.ok("recommend", genres, "--all-users", "-k", 4, "-o", lists, "-q", *words)
    rows = [line.split(",") for line in lists.read_text().splitlines()[1:]]
    chosen = shop.in_category("Three", not_in="Two")
    for user in ("u0", "u7", "u119"):
        found = [int(row[2]) for row in rows if row[0] == user]
        assert found == shop.recommend(user, 4, allow=chosen, deny=[1005]).ids()
    assert {int(row[2]) for row in rows} <= {*range(1002, 1080, 3)} - {*range(1000, 1080, 2), 1005}


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
