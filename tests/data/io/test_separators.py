"""What divides categories: genres with commas are split, names with commas are not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl
import pytest

from xorec.data.interactions import Interactions
from xorec.data.io.read import read

GENRES = ["Action", "Comedy", "Drama", "School", "Slice of Life"]


def with_genres(genres: list[str | None]) -> Interactions:
    info = pl.DataFrame({"item": range(len(genres)), "genre": genres})
    return read([("ann", item) for item in range(len(genres))], item_info=info)


def labels(data: Interactions) -> list[str]:
    assert data.categories is not None
    return list(data.categories.labels)


def sets_of_genres(between: str) -> list[str | None]:
    return [between.join(some) for n in (1, 2, 3) for some in combinations(GENRES, n)]


@pytest.mark.parametrize("between", [", ", ",", "; ", ";", " / ", "/", "|", " | "])
def test_genres_are_split_and_a_note_says_so(between: str) -> None:
    data: Any = with_genres([*sets_of_genres(between), None, f"Drama{between}"])
    assert labels(data) == GENRES
    assert data.categories.of(24) == ["Drama", "School", "Slice of Life"]
    assert data.categories.of(25) == []
    assert data.categories.of(26) == ["Drama"]
    assert f"categories split at {between.strip()!r}: 5" in data.notes


@pytest.mark.parametrize(
    "names",
    [
        ["Action, Adventure & Co", "Comedy", "Drama"],
        ["Action, Adventure & Co", "Action", "Comedy"],
        ["Food; Drinks", "Clothing; Shoes", "Books; Magazines"],
        ["Home/Kitchen/Pans", "Home/Kitchen/Pots", "Home/Garden/Rakes", "Home/Garden/Hoes"],
        ["Sci-Fi/Fantasy", "Action/Adventure", "Comedy"],
    ],
)
def test_names_that_have_it_in_them_stay(names: list[str | None]) -> None:
    data = with_genres([*names, *names])
    assert labels(data) == sorted(map(str, names))
    assert not [note for note in data.notes if "split at" in note]
    sign = next(sign for sign in ",;/" if sign in str(names[0]))
    note = f"{sign!r} in categories taken as part of their names; '|' divides them"
    assert note in data.notes


def test_the_one_that_leaves_the_fewest_labels_is_taken() -> None:
    """Action/Adventure is one genre where commas divide, though "/" is in it."""
    genres = [
        genre.replace("Action", "Action/Adventure") for genre in map(str, sets_of_genres(","))
    ]
    assert labels(with_genres([*genres])) == ["Action/Adventure", *GENRES[1:]]


def test_lists_are_divided_already() -> None:
    lists = [[str(genre)] for genre in sets_of_genres(", ")]
    info = pl.DataFrame({"item": range(len(lists)), "genre": lists})
    data = read([("ann", item) for item in range(len(lists))], item_info=info)
    assert len(labels(data)) == len(lists)
    assert not [note for note in data.notes if "','" in note]


def test_the_whole_file_counts_not_only_the_items_that_are_asked_for() -> None:
    genres = sets_of_genres(", ")
    info = pl.DataFrame({"item": range(len(genres)), "genre": genres})
    assert labels(read([("ann", 5)], item_info=info)) == ["Action", "Comedy"]
