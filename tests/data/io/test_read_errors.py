"""What is wrong with a file, where, and what to do: one line each."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.data.io.read import read


def refusal(path: Path, content: str | bytes, **options: Any) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError) as caught:
        read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


Case = tuple[str, str | bytes, dict[str, Any], list[str]]
TABLES: list[tuple[str | bytes, list[str]]] = [
    ("", ["is empty"]),
    ("  \n\n", ["is empty"]),
    ("user,item\n", ["has no rows below its header: give a file"]),
    ("user\n1\n", ["one column only", "user", "separator"]),
    ("user,item\n1,2\n,3\n", ["'user'", "data row 2", "empty", "user_column"]),
    ("user,item\n1,2\n1\n", ["'item'", "data row 2", "empty"]),
    ('user,item\n1,2\n"",3\n', ["'user'", "data row 2", "missing value"]),
    ("user,item\n1,2\n3,NaN\n", ["'item'", "data row 2", "'NaN'", "missing"]),
    ("user,item\na,2\nnan,3\n", ["'user'", "data row 2", "'nan'"]),
    ("user,item\n1,2\nnull,3\n", ["'user'", "data row 2", "'null'"]),
    ("a,b,c\nq,w,e\n", ["which column holds the users", "a, b, c"]),
    ("user,b,c\nq,w,e\n", ["which column holds the items", "--item-column"]),
    (
        "user,item,rating\n1,2,5\n1,3,good\n",
        ["'rating'", "data row 2", "'good' is not a rating", "rating_column=''"],
    ),
    ("user,item,rating\n1,2,5\n1,3,\n", ["data row 2", "an empty field is not"]),
    (
        "user,item,time\n1,2,5\n1,3,soon\n",
        ["'time'", "data row 2", "'soon' is not a time", "time_column=''"],
    ),
    ("user,item,time\n1,2,soon\n", ["'soon' is not a time"]),
    (
        "user,item,date\n1,2,01/02/2024\n1,3,05/13/2024\n",
        ["data row 2", "'05/13/2024' is not a time; dates are read as 2024-12-31 or day first"],
    ),
    (
        "user,item,split\n1,2,train\n1,3,later\n",
        ["'split'", "data row 2", "'later' is not a part of a split", "train, validation and test"],
    ),
    ("user,item\n1,2,3\n4,5\n", ["more fields"]),
    ("user,item\n1,é\n".encode("latin-1"), ["not UTF-8", "iconv"]),
    (b"user,item\n1,2\x00\n", ["is not text (it has zero bytes)"]),
]
"""Contents of a CSV file, and words of the message."""
CUT = gzip.compress(b"user,item\n1,2\n" * 99, mtime=0)[:-20]
NO_ITEM = '{"user": 1, "item": 2}\n{"user": 1}\n'
MISSPELT, DOUBLE = {"item_column": "itemkey"}, {"user_column": "c", "item_column": "c"}
CASES: list[Case] = [
    *(("x.csv", content, {}, words) for content, words in TABLES),
    ("x.csv", "user,item_key,c\nq,w,e\n", MISSPELT, ["no column 'itemkey'", "'item_key'?"]),
    ("x.csv", "user,item,c\nq,w,e\n", DOUBLE, ["'c' cannot be user and item"]),
    ("x.parquet", "user,item\n1,2\n", {}, ["cannot be read", "format"]),
    ("x.csv.gz", CUT, {}, ["fetch it again"]),
    ("x.jsonl", '{"user": 1, "item": 2}\n{"user": 1,\n', {}, ["line 2", "not JSON"]),
    ("x.json", '[{"user": 1}]\n', {}, ["JSON array", "one object a line"]),
    ("x.jsonl", "3\n", {}, ["line 1", "not a JSON object"]),
    ("x.jsonl", NO_ITEM, {}, ["'item'", "data row 2", "empty"]),
    ("x.dat", "1::2::3\n::3::4\n", {}, ["column_1", "data row 2", "the user is ''"]),
]


@pytest.mark.parametrize(("name", "content", "options", "words"), CASES)
def test_the_message_names_value_place_and_way_out(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], words: list[str]
) -> None:
    message = refusal(tmp_path / name, content, **options)
    for word in words:
        assert word in message


def test_an_empty_id_far_down_is_found_in_its_row(tmp_path: Path) -> None:
    content = "user,item\n" + "1,2\n" * 234_567 + ",2\n" + "1,2\n" * 1000
    assert "data row 234,568" in refusal(tmp_path / "x.csv", content)


def test_mixed_json_ids_are_refused_even_far_down(tmp_path: Path) -> None:
    content = '{"user": 1, "item": 2}\n' * 5_000 + '{"user": "x", "item": 2}\n'
    assert "one kind" in refusal(tmp_path / "x.jsonl", content)


def test_missing_file_and_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.csv"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=r"holds no data: it needs interactions\.parquet"):
        read(tmp_path)


def test_a_layout_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item\n1,2\n")
    with pytest.raises(OptionError, match="'excel' is not known: use one of csv, tsv"):
        read(tmp_path / "x.csv", format="excel")
    with pytest.raises(OptionError, match="separator is empty"):
        read(tmp_path / "x.csv", separator="")


def test_nulls_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"user": [1, None], "item": ["a", "b"]}).write_parquet(path)
    with pytest.raises(DataError, match="'user', data row 2: the user is empty"):
        read(path)
    pl.DataFrame({"user": [1.0, float("nan")], "item": ["a", "b"]}).write_parquet(path)
    with pytest.raises(DataError, match="'user', data row 2: the user is empty"):
        read(path)
    pl.DataFrame({"user": [1], "item": [[1]]}).write_parquet(path)
    with pytest.raises(DataError, match=r"'item'.*List"):
        read(path)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"user": [1], "item": [1]}).write_parquet(path)
    assert "cannot be read" in refusal(path, path.read_bytes()[:-30])


@pytest.mark.parametrize("thing", [3, {"a": 1}, b"bytes", object()])
def test_things_that_are_no_data(thing: object) -> None:
    with pytest.raises(DataError, match=r"cannot be read: give a path, .*data frame, \(user"):
        read(thing)


@pytest.mark.parametrize(
    ("wrong", "column"), [(",3,4", "user"), ("u,,4", "item"), ("u,3,good", "rating")]
)
def test_rows_are_counted_over_all_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, column: str
) -> None:
    monkeypatch.setattr("xorec.data.io.encode.BATCH", 4)
    lines = [f"u{n},{n},1" for n in range(18)]
    frame = "\n".join(["user,item,rating", *lines, wrong, *lines])
    message = refusal(tmp_path / "x.csv", frame)
    assert f"column {column!r}, data row 19:" in message


def test_a_broken_line_does_not_hide_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "kunden.csv"
    rows = [f"K{n:03};Tee {n % 5};{n};2025-04-03" for n in range(30)]
    path.write_text("\n".join(["kunde;artikel;menge;datum", *rows[:7], "K007", *rows[7:]]) + "\n")
    with pytest.raises(DataError, match=r"column 'artikel', data row 8: the item is empty"):
        read(path, user_column="kunde", item_column="artikel")
