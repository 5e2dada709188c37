"""--category and --not-category: for one user, for a new user and for all users."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    rules = {"allow": chosen, "deny": [1005]}
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
