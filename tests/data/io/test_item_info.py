"""Names and categories of items from a second file; what divides categories; whole folders."""

from __future__ import annotations

import gzip
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from xorec.core.errors import DataError
from xorec.data.interactions import TEST, TRAIN, VALIDATION, Interactions
from xorec.data.io.read import read

NAMES = {1: "Toy Story (1995)", 2: "Amélie: the film", 3: ""}
CATEGORIES = {1: ["Animation", "Comedy"], 2: ["Comedy"], 3: []}


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text("userId,movieId\n7,1\n7,2\n8,3\n")
    return path


def check(data: Interactions, names: bool = True, categories: bool = True) -> None:
    assert (data.names is not None) == names
    if data.names is not None:
        assert dict(zip(data.items, data.names, strict=True)) == NAMES
    assert (data.categories is not None) == categories
    if data.categories is not None:
        told = {data.items[item]: data.categories.of(item) for item in range(3)}
        assert told == CATEGORIES


MOVIES = "1::Toy Story (1995)::Animation|Comedy\n2::Amélie: the film::Comedy\n99::Other::War\n"
FILES: dict[str, bytes] = {
    "movies.dat": MOVIES.encode("latin-1"),
    "movies_utf8.dat": MOVIES.encode(),
    "movies.csv": b"movieId,title,genres\n1,Toy Story (1995),Animation|Comedy\n"
    + "2,Amélie: the film,Comedy\n3,,(no genres listed)\n".encode(),
    "rows.csv": b"item,category,name\n1,Comedy,Toy Story (1995)\n1,Animation,Toy\n"
    + "2,Comedy,Amélie: the film\n2,Comedy,\n".encode(),
    "ml.item": b"item_id:token\tmovie_title:token_seq\tclass:token_seq\n"
    + "1\tToy Story (1995)\tAnimation Comedy\n2\tAmélie: the film\tComedy\n".encode(),
    "meta.jsonl": b'{"id": 1, "title": "Toy Story (1995)", "categories": ["Animation", "Comedy"]}\n'
    + '{"id": 2, "title": "Amélie: the film", "categories": ["Comedy"]}\n'.encode(),
    "meta2014.jsonl": b'{"asin": 1, "title": "Toy Story (1995)", '
    + b'"categories": [["Animation", "Comedy"], ["Comedy"]]}\n'
    + '{"asin": 2, "title": "Amélie: the film", "categories": [["Comedy"]]}\n'.encode(),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_item_file(ratings: Path, name: str, packed: bool) -> None:
    path = ratings.with_name("info_" + name + (".gz" if packed else ""))
    path.write_bytes(gzip.compress(FILES[name]) if packed else FILES[name])
    data = read(ratings, item_info=path)
    check(data)
    assert any(note.startswith(f"{path.name}: columns guessed: item = ") for note in data.notes)
    assert "2 categories for 2 of 3 items" in data.notes


def test_frames_and_parquet_with_lists(ratings: Path) -> None:
    table: dict[str, list[Any]] = {
        "item": [1, 2, 5],
        "name": ["Toy Story (1995)", "Amélie: the film", "Other"],
        "category": [["Comedy", "Animation"], ["Comedy"], None],
    }
    check(read(ratings, item_info=pl.DataFrame(table)))
    check(read(ratings, item_info=pd.DataFrame(table)))
    path = ratings.with_name("x.parquet")
    pl.DataFrame(table).write_parquet(path)
    check(read(ratings, item_info=path))
    names_only = pl.DataFrame({"item": table["item"], "title": table["name"]})
    check(read(ratings, item_info=names_only), categories=False)
    odd = pl.DataFrame({"Game_ID": table["item"], "Game Name": table["name"]})
    check(read(ratings, item_info=odd), categories=False)


def test_ids_match_by_what_they_say_not_by_their_type(tmp_path: Path) -> None:
    info = pl.DataFrame({"item": [1, 7], "category": [10, 20]})
    data: Any = read([("u", "1"), ("u", "007")], item_info=info)
    assert [data.categories.of(item) for item in range(2)] == [[], ["10"]]


def test_a_file_about_other_items_is_refused(ratings: Path) -> None:
    with pytest.raises(DataError, match=r"none of its items \('x', ...\) is among .* \(1, ...\)"):
        read(ratings, item_info=pl.DataFrame({"item": ["x"], "name": ["y"]}))
    with pytest.raises(DataError, match="no column for names or categories; there are: item, q"):
        read(ratings, item_info=pl.DataFrame({"item": [1], "q": ["y"]}))
    with pytest.raises(DataError, match="there is no file"):
        read(ratings, item_info=ratings.with_name("nothing.csv"))


def test_a_folder_of_movielens(ratings: Path) -> None:
    ratings.with_name("movies.dat").write_bytes(FILES["movies.dat"])
    check(read(ratings.parent))


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"user": [7, 7, 8], "item": [1, 2, 3], "split": ["train", "test", "train"]}
    )
    frame.write_parquet(tmp_path / "interactions.parquet")
    rows = [(item, label) for item, labels in CATEGORIES.items() for label in labels]
    table = pl.DataFrame(rows, schema=["item", "category"], orient="row")
    table.write_parquet(tmp_path / "item_categories.parquet")
    data: Any = read(tmp_path)
    check(data, names=False)
    assert data.parts.tolist() == [TRAIN, TEST, TRAIN]


def test_a_folder_of_recbole(tmp_path: Path) -> None:
    (tmp_path / "ml.inter").write_text("user_id:token\titem_id:token\n7\t1\n7\t2\n8\t3\n")
    (tmp_path / "ml.item").write_bytes(FILES["ml.item"])
    check(read(tmp_path))


def test_a_folder_that_is_split_already(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0 1 2 3\n1 5\n")
    (tmp_path / "test.txt").write_text("0 4\n1 1 2\n")
    data: Any = read(tmp_path)
    assert data.parts.tolist() == [TRAIN, TRAIN, TRAIN, TEST, TEST, TEST, TRAIN]
    assert "the split of the folder: train, test" in data.notes
    (tmp_path / "valid.txt").write_text("1 3 4\n")
    data = read(tmp_path)
    assert data.parts.tolist().count(VALIDATION) == 2


def test_a_split_folder_of_tables_without_header(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("1,2,good\n1,3,bad\n")
    (tmp_path / "test.csv").write_text("2,2,good\n")
    data: Any = read(tmp_path)
    assert data.parts.tolist() == [TRAIN, TRAIN, TEST]
    (tmp_path / "test.csv").write_text("user,item\n2,2\n")
    with pytest.raises(DataError, match="give them the same columns"):
        read(tmp_path)


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
