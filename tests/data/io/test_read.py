"""Every format gives the same interactions; ids keep their type; guesses are reported."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.same_data import pairs_of
from xorec.core.errors import DataError
from xorec.data.interactions import TEST, TRAIN, VALIDATION, Interactions
from xorec.data.io.read import read

# user, item, rating, time: planted in no order, with ids that do not sort as numbers do
PLANTED = [
    (10, 300, 4.0, 1_000_000_007),
    (2, 20, 5.0, 1_000_000_003),
    (10, 20, 1.5, 1_000_000_009),
    (7, 300, 3.0, 1_000_000_001),
    (2, 4, 2.0, 1_000_000_005),
]
USERS, ITEMS = [2, 7, 10], [4, 20, 300]


def rows_of(data: Interactions) -> list[tuple[Any, ...]]:
    """(user, item[, rating[, time]]) of every pair, in the order of the rows."""
    more = [values.tolist() for values in (data.ratings, data.times) if values is not None]
    return [(*pair, *rest) for pair, *rest in zip(pairs_of(data), *more, strict=True)]


def lines(separator: str, header: str | None = None) -> str:
    rows = [separator.join(str(value) for value in row) for row in PLANTED]
    return "\n".join(([header] if header else []) + rows) + "\n"


def amazon() -> str:
    names = ("reviewerID", "asin", "overall", "unixReviewTime")
    rows = (dict(zip(names, row, strict=True)) for row in PLANTED)
    return "".join(json.dumps({**row, "helpful": [0, 1], "text": "x"}) + "\n" for row in rows)


TEXTS = {
    "ratings.csv": lines(",", "userId,movieId,rating,timestamp"),
    "semicolon.csv": lines(";", "user;item;rating;time"),
    "headless.csv": lines(","),
    "ratings.tsv": lines("\t", "user\titem\trating\ttime"),
    "ratings.dat": lines("::"),
    "u.data": lines("\t"),
    "blanks.txt": lines("  "),
    "ml.inter": lines("\t", "user_id:token\titem_id:token\trating:float\ttimestamp:float"),
    "reviews.json": amazon(),
    "reviews.jsonl": amazon(),
    "crlf.csv": lines(",", "user,item,rating,time").replace("\n", "\r\n"),
    "bom.csv": "\ufeff" + lines(",", "user,item,rating,time"),
    "trailing_blank.csv": lines(",", "user,item,rating,time") + "\n\n",
    "extra.csv": "x," + lines(",", "user,item,rating,time").replace("\n", "\nx,", len(PLANTED)),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_format_gives_the_same_interactions(
    tmp_path: Path, name: str, packed: bool
) -> None:
    content = TEXTS[name].encode()
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(content) if packed else content)
    data: Any = read(path)
    assert rows_of(data) == sorted(PLANTED)
    assert (list(data.users), list(data.items)) == (USERS, ITEMS)
    assert data.ratings.dtype == np.float32
    assert data.times.dtype == np.int64
    assert any(note.startswith("columns guessed: user = ") for note in data.notes)


def test_a_compressed_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "no_ending.csv"
    path.write_bytes(gzip.compress(TEXTS["ratings.csv"].encode()))
    assert rows_of(read(path)) == sorted(PLANTED)


def test_parquet_keeps_types(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame = pl.DataFrame(PLANTED, schema=["user", "item", "rating", "timestamp"], orient="row")
    frame.write_parquet(path)
    assert rows_of(read(path)) == sorted(PLANTED)
    frame.with_columns(pl.col("user", "item").cast(pl.String)).write_parquet(path)
    data = read(path)
    assert list(data.users) == ["10", "2", "7"]  # text that looks like numbers stays text
    frame.with_columns(pl.col("user").cast(pl.String).cast(pl.Categorical)).write_parquet(path)
    assert list(read(path).users) == ["10", "2", "7"]


@pytest.mark.parametrize("name", ["train.txt", "train.txt.gz", "lists"])
def test_lists_of_items(tmp_path: Path, name: str) -> None:
    content = b"10 300 20\n2 20 4\n7 300 \n8\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    data = read(tmp_path / name)
    assert rows_of(data) == sorted(row[:2] for row in PLANTED)


def test_format_overrides_the_name(tmp_path: Path) -> None:
    (tmp_path / "same_length.txt").write_text("1 5 6\n2 7 8\n")
    assert read(tmp_path / "same_length.txt").ratings is not None
    data = read(tmp_path / "same_length.txt", format="list")
    assert rows_of(data) == [(1, 5), (1, 6), (2, 7), (2, 8)]


def test_quotes_in_some_lines_do_not_hide_the_separator(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text('user,item\n1,"a, b"\n2,c\n')
    assert rows_of(read(tmp_path / "some.txt")) == [(1, "a, b"), (2, "c")]
    (tmp_path / "all.csv").write_text('"who","what"\n"x","y"\n"z","y"\n')
    assert rows_of(read(tmp_path / "all.csv")) == [("x", "y"), ("z", "y")]


def test_columns_can_be_named_and_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("who,what,rating,user\na,b,5,1\nc,d,4,2\n")
    data = read(path, user_column="who", item_column="what", rating_column="")
    assert (list(data.users), list(data.items), data.ratings) == (["a", "c"], ["b", "d"], None)
    assert data.notes == ("columns not used: rating, user",)
    guessed = read(path, item_column="what")
    assert list(guessed.users) == [1, 2]
    assert guessed.notes[0] == "columns guessed: user = user, rating = rating; not used: who"


def test_guesses_prefer_the_products_own_id(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"user_id": "u", "asin": "A1", "parent_asin": "P1", "rating": 5.0}\n')
    assert list(read(path).items) == ["P1"]


def test_two_columns_with_any_names_are_user_and_item(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    data = read(tmp_path / "x.csv")
    assert rows_of(data) == [(1, 2)]
    assert data.notes == ("columns guessed: user = a, item = b",)


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        (["10", "9", "0", "-3"], [-3, 0, 9, 10]),
        (["007", "7", "8"], ["007", "7", "8"]),
        (["7", "x"], ["7", "x"]),
        (["1.0", "2.0"], ["1.0", "2.0"]),
        (["+7", "8"], ["+7", "8"]),
        (["9223372036854775807", "1"], [1, 9223372036854775807]),
        (["9223372036854775808", "1"], ["1", "9223372036854775808"]),
        (["-9223372036854775808", "-1"], [-9223372036854775808, -1]),
        (["-9223372036854775809", "-1"], ["-1", "-9223372036854775809"]),
        (["-0", "0"], ["-0", "0"]),
        (['"1"', '"2"'], ["1", "2"]),
        (["é", "日本", "a b"], ["a b", "é", "日本"]),
        (['"a,b"', '"say ""x"""'], ["a,b", 'say "x"']),
        (["NA", "x"], ["NA", "x"]),
    ],
)
def test_ids_of_a_csv_keep_what_they_say(
    tmp_path: Path, fields: list[str], ids: list[object]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item\n" + "".join(f"{field},1\n" for field in fields))
    assert list(read(path).users) == ids


@pytest.mark.parametrize("odd", ["007", "+7", "-0", "7.0", "x" * 40, "9223372036854775808"])
def test_one_id_in_the_last_batch_that_is_no_number_keeps_all_ids_text(
    tmp_path: Path, odd: str
) -> None:
    path = tmp_path / "x.csv"
    fields = [*map(str, range(-125_000, 125_000)), odd]
    path.write_text("user,item\n" + "".join(f"{field},1\n" for field in fields))
    assert list(read(path).users) == sorted(fields)


@pytest.mark.parametrize(
    ("last", "time", "rating"),
    [("5.9,4", 5, 4), ("1970-01-01,4", None, 4), ("5,4e0", 5, 4), (" 5, 4", 5, 4)],
)
def test_one_value_in_the_last_batch_that_is_written_otherwise(
    tmp_path: Path, last: str, time: int | None, rating: float
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item,time,rating\n" + "1,2,3,4.5\n" * 250_000 + f"1,3,{last}\n")
    if time is None:  # a date among numbers
        with pytest.raises(DataError, match="data row 250,001: '1970-01-01' is not a time"):
            read(path)
    else:
        assert rows_of(read(path)) == [(1, 2, 4.5, 3), (1, 3, rating, time)]


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        (["5", "3"], [5, 3]),
        (["5.9", "3"], [5, 3]),
        (["1e9", "3"], [10**9, 3]),
        ([" 5", "3.5", "\t4"], [5, 3, 4]),
        (["007", "-3"], [7, -3]),
        (["1970-01-02", "1970-01-01"], [86_400, 0]),
        (["1970-01-01 00:01:00", "1970-01-01 00:00:01"], [60, 1]),
        (["1970-01-01T00:01:00Z", "1970-01-01T00:00:01Z"], [60, 1]),
        (["1970-01-01T02:00:00+01:00", "1970-01-01T00:00:00+00:00"], [3600, 0]),
    ],
)
def test_times_of_any_kind(tmp_path: Path, fields: list[str], times: list[int]) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f"{at},1,{field}\n" for at, field in enumerate(fields))
    path.write_text("user,item,timestamp\n" + rows)
    data: Any = read(path)
    assert data.times.tolist() == times


def test_the_latest_of_equal_pairs_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating,time\n1,1,5,30\n1,1,4,40\n1,1,3,20\n2,1,1,10\n")
    data = read(path)
    assert rows_of(data) == [(1, 1, 4.0, 40), (2, 1, 1.0, 10)]
    assert "2 repeated pairs merged, the latest kept" in data.notes
    last = read(path, time_column="")
    assert rows_of(last) == [(1, 1, 3.0), (2, 1, 1.0)]
    assert "2 repeated pairs merged, the last kept" in last.notes


def test_a_given_split_is_read_and_a_pair_in_two_parts_stays_in_train(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = ["1,1,Test", "1,1,train", "1,2,valid", "2,1,test", "2,2,2", "3,1,0", "3,2,validation"]
    path.write_text("user,item,split\n" + "\n".join(rows) + "\n")
    data: Any = read(path)
    assert data.parts.dtype == np.int8
    assert data.parts.tolist() == [TRAIN, VALIDATION, TEST, TEST, TRAIN, VALIDATION]
    assert "1 pairs in several parts kept in the first of them" in data.notes


def test_many_batches_are_read_as_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 9_000, 350_000), rng.integers(0, 5_000, 350_000)
    wanted = sorted(set(zip(users.tolist(), items.tolist(), strict=True)))
    pl.DataFrame({"user": users, "item": items}).write_csv(tmp_path / "x.csv")
    assert rows_of(read(tmp_path / "x.csv")) == wanted
