"""Input that was made to harm: it is refused with a reason, quickly, or read as it is."""

from __future__ import annotations

import gzip
import os
import resource
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import xorec
from tests.support.waiting import PATIENCE
from xorec.core import paths
from xorec.core.errors import DataError, OptionError
from xorec.data.ids import Ids
from xorec.data.io.data_file import byte_count


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def ids(data: xorec.Interactions) -> tuple[list[Any], list[Any]]:
    return list(data.users), list(data.items)


TEXTS = {
    "a.csv": "1,10,5\n2,20,4\n3,10,3\n",
    "a.tsv": "1\t10\t5\n2\t20\t4\n3\t10\t3\n",
    "a.dat": "1::10::5\n2::20::4\n3::10::3\n",
    "b.dat": "1 10 5\n2 20 4\n3 10 3\n",
    "a.inter": "1\t10\t5\n2\t20\t4\n3\t10\t3\n",
    "a": "1|10|5\n2|20|4\n3|10|3\n",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_columns_without_a_header_count_from_1(tmp_path: Path, name: str, packed: bool) -> None:
    text = TEXTS[name].encode()
    path = write(tmp_path, name + ".gz" * packed, gzip.compress(text) if packed else text)
    named: dict[str, Any] = {
        "user_column": "column_2",
        "item_column": "column_1",
        "rating_column": "column_3",
    }
    data: Any = xorec.read(path, has_header=False, **named)
    assert ids(data) == ([10, 20], [1, 2, 3])
    assert data.ratings.tolist() == [5, 3, 4]
    with pytest.raises(DataError, match="column_1, column_2, column_3"):
        xorec.read(path, has_header=False, user_column="column_0")


def test_a_line_of_a_gigabyte_in_a_megabyte_of_gzip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 MB here: three lines' worth of limit; no more than the limit is unpacked, none kept."""
    path = tmp_path / "line.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"user,item\na,")
        for _ in range(200):
            file.write(b"x" * 10**6)
    unpacked, read, before = [0], gzip.GzipFile.read, _peak()

    def counting(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        found = read(self, size)
        unpacked[0] += len(found)
        return found

    monkeypatch.setattr(gzip.GzipFile, "read", counting)
    with pytest.raises(DataError, match=r"line of more than 64,000,000 bytes.*max_line"):
        xorec.read(path)
    assert 64_000_000 < unpacked[0] < 66_000_000
    assert _peak() - before < 60


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_limits_of_what_is_unpacked(tmp_path: Path) -> None:
    text = b"user,item\n" + b"a,b\n" * 1000
    path = write(tmp_path, "a.csv.gz", gzip.compress(text))
    with pytest.raises(DataError, match=r"more than 4,009 bytes.*max_expanded"):
        xorec.read(path, max_expanded=4009)
    assert xorec.read(path, max_expanded=4010).n_pairs == 1
    with pytest.raises(DataError, match="line of more than 8 bytes"):
        xorec.read(path, max_line=8)
    assert xorec.read(path, max_line=9).n_pairs == 1
    with pytest.raises(DataError, match="line of more than 8 bytes"):
        xorec.read(write(tmp_path, "a.csv", text), max_line=8)
    assert byte_count(" 20 gb", "x") == 20 * 10**9
    for wrong in ("", "many", 0, -1, "1.5GB"):
        with pytest.raises(OptionError, match="max_line is"):
            xorec.read(path, max_line=wrong)


def test_a_parquet_of_more_rows_than_it_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pl.select(user=pl.repeat(1, 10**5), item=pl.repeat(2, 10**5)).write_parquet(path)
    assert xorec.read(path).n_pairs == 1
    with pytest.raises(DataError, match=r"hold 100,000 rows.*max_expanded"):
        xorec.read(path, max_expanded="1MB")


@pytest.mark.parametrize(
    ("sign", "kind"), [(b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh9", "bzip2"), (b"PK\x03\x04", "zip")]
)
def test_what_is_packed_otherwise_is_named(tmp_path: Path, sign: bytes, kind: str) -> None:
    with pytest.raises(DataError, match=f"packed by {kind}"):
        xorec.read(write(tmp_path, "a.csv", sign + b"aaaa\naaaa\n"))


def test_a_pipe_is_read_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "WAIT_FOR_WRITER", PATIENCE)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content in (b"user,item\na,b\n", gzip.compress(b"user,item\na,b\n"), b"a b b b\na b\n"):
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        assert ids(xorec.read(pipe)) == (["a"], ["b"])
        writer.join()
    with pytest.raises(DataError, match="a device"):
        xorec.read("/dev/zero")


@pytest.mark.parametrize("depth", [3000, 100_000])
@pytest.mark.parametrize("line", [1, 1500])
@pytest.mark.parametrize("inside", ["item", "other"])
def test_objects_deep_inside_each_other(tmp_path: Path, depth: int, line: int, inside: str) -> None:
    good = '{"user": 1, "item": 2}\n'
    deep = '{"user": 1, "item": 2, "' + inside + '": ' + '{"a":' * depth + "1" + "}" * depth + "}\n"
    with pytest.raises(DataError, match=r"too deep|DepthLimit"):
        xorec.read(write(tmp_path, "a.jsonl", good * (line - 1) + deep))


def test_half_of_a_surrogate_pair_is_no_id(tmp_path: Path) -> None:
    half = '{"user": "b", "item": 1}\n{"user": "a\\ud800", "item": 2}\n'
    with pytest.raises(DataError, match=r"data row 2: the user .*\\ud800"):
        xorec.read(write(tmp_path, "a.jsonl", half))
    whole = xorec.read(write(tmp_path, "b.jsonl", '{"user": "\\ud83d\\ude00", "item": 2}\n'))
    assert list(whole.users) == ["😀"]
    for rows in ([("\ud800", 1)], [("a", "\udc80"), ("b", "c")]):
        with pytest.raises(DataError, match=r"column '(user|item)'.*surrogate pair"):
            xorec.read(rows)
    frame = pd.DataFrame({"user": pd.Series(["\ud800", "b"], dtype=object), "item": [1, 2]})
    with pytest.raises(DataError, match="surrogate pair"):
        xorec.read(frame)
    with pytest.raises(DataError, match="surrogate pair"):
        xorec.Interactions.from_pairs([("\ud800", 1)])
    assert Ids.of(["a"]).find("\ud800") == -1
    assert Ids.of(["a"]).find_many(["\ud800"] * 100).max() == -1


def test_a_zero_byte_after_the_head(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data row 30,001: the item 'b.x00' has a zero byte"):
        xorec.read(write(tmp_path, "a.csv", b"user,item\n" + b"a,b\n" * 30_000 + b"a,b\0\n"))
    assert list(xorec.read([("a\0", 1), ("a", 1)]).users) == ["a", "a\0"]


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "rows",
    [[(1.5, 1), (BIG, 2), (BIG - 1, 3)], [(BIG, 1), (1.5, 2)], [(float(2**53), 1), (1.5, 2)]],
)
def test_whole_numbers_that_a_float_cannot_tell_apart(tmp_path: Path, rows: Any) -> None:
    lines = "".join(f'{{"user": {user}, "item": {item}}}\n' for user, item in rows)
    users = pd.Series([user for user, _ in rows], dtype=object)
    frame = pd.DataFrame({"user": users, "item": [item for _, item in rows]})
    for source in (write(tmp_path, "a.jsonl", lines), rows, frame):
        with pytest.raises(DataError, match=r"mixed\s+up"):
            xorec.read(source)


def test_whole_numbers_stay_exact(tmp_path: Path) -> None:
    lines = f'{{"user": {BIG}, "item": 1}}\n{{"user": {BIG - 1}, "item": 1}}\n'
    rows = [(BIG, 1), (BIG - 1, 1)]
    frames = [frame({"user": [BIG, BIG - 1], "item": [1, 1]}) for frame in (pd.DataFrame, pa.table)]
    for source in (write(tmp_path, "a.jsonl", lines), rows, *frames):
        assert list(xorec.read(source).users) == [BIG - 1, BIG]
    mixed = xorec.read([(1.5, 1), (7, 1)])
    assert [mixed.users.find(one) for one in (1.5, 7, 7.0, 10**400, BIG)] == [0, 1, 1, -1, -1]
    assert Ids.of([1.5, 7]).find(7) == 1
    assert Ids.of([2**70]).find(10**5000) == -1
    with pytest.raises(DataError, match="4,096 bits"):
        xorec.read([(10**5000, 1), (1, 1)])


def test_zero_has_one_sign_and_nothing_is_infinite() -> None:
    for rows in ([(0.0, 1), (-0.0, 2), (1.5, 1)], [(-0.0, 2), (0.0, 1), (1.5, 1)]):
        data = xorec.read(rows)
        assert repr(list(data.users)) == "[0.0, 1.5]"
        assert data.users.find(-0.0) == 0
    with pytest.raises(DataError, match="inf"):
        xorec.read([(float("inf"), 1), (1.5, 1)])
    with pytest.raises(DataError, match="inf is not a rating"):
        xorec.read([("a", "b", float("inf"))])


def test_an_id_of_ten_megabytes(tmp_path: Path) -> None:
    assert xorec.read([("a" * 4096, 1), ("a", 1)]).n_users == 2
    with pytest.raises(DataError, match="data row 2: the user has 10,000,000 bytes"):
        xorec.read(write(tmp_path, "a.csv", "user,item\nb,c\n" + "a" * 10**7 + ",b\n"))


def test_a_column_name_of_fifty_megabytes(tmp_path: Path) -> None:
    long = "a" * 50_000_000
    with pytest.raises(DataError, match=r"first line of the table has more than 65,536") as error:
        xorec.read(write(tmp_path, "a.csv", f"user,{long}\na,b\n"))
    assert len(str(error.value)) < 500
    with pytest.raises(DataError, match="there are: x, aaa") as error:
        xorec.read(pl.DataFrame({"x": [1], long[: 10**6]: [2], "z": [3]}))
    assert len(str(error.value)) < 1000
    wide = pl.DataFrame({f"c{at}": [1] for at in range(3000)})
    with pytest.raises(DataError, match=r"and 2,980 more. Did you mean 'c77'") as error:
        xorec.read(wide, user_column="c77x")
    assert len(str(error.value)) < 500


ONE_PAIR = {
    ".csv": "user,item\n1,2\n",
    ".jsonl": '{"user": 1, "item": 2}\n',
    ".txt": "1 2 2 2 2\n1 2\n",
    ".dat": "1::2\n1::2\n",
}


@pytest.mark.parametrize("name", ["a[1].csv", "a[1].jsonl", "a?.txt", "a*.dat", "a[1].parquet"])
def test_a_name_is_a_name_and_no_pattern(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        pl.DataFrame({"user": [1], "item": [2]}).write_parquet(path)
    else:
        write(tmp_path, name, ONE_PAIR[path.suffix])
    assert ids(xorec.read(path)) == ([1], [2])


@pytest.mark.parametrize("ending", ONE_PAIR)
def test_a_mark_of_byte_order_is_no_part_of_an_id(tmp_path: Path, ending: str) -> None:
    name, text = f"a{ending}", ONE_PAIR[ending]
    assert ids(xorec.read(write(tmp_path, name, text.encode("utf-8-sig")))) == ([1], [2])
    assert ids(xorec.read(write(tmp_path, name, text.replace("\n", "\r\n")))) == ([1], [2])
    with pytest.raises(DataError, match="UTF-16"):
        xorec.read(write(tmp_path, name, text.encode("utf-16")))


def test_lines_end_where_they_end(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="CR alone"):
        xorec.read(write(tmp_path, "a.csv", b"user,item\r1,2\r"))
    data = xorec.read(write(tmp_path, "a.jsonl", '{"user": "a\u2028b", "item": "c\x85"}\n'))
    assert ids(data) == (["a\u2028b"], ["c\x85"])


def _matrix(kind: Any = sparse.csr_array, **arrays: Any) -> Any:
    matrix = kind(np.ones((3, 3)))
    vars(matrix).update(arrays)
    return matrix


@pytest.mark.parametrize(
    "matrix",
    [
        _matrix(indptr=np.array([0, 3, 10**6, 9], dtype=np.int32)),
        _matrix(indptr=np.array([0, -5, 6, 9], dtype=np.int32)),
        _matrix(indices=np.full(9, 10**6, dtype=np.int32)),
        _matrix(indices=np.full(9, -1, dtype=np.int32)),
        _matrix(indices=np.zeros(4, dtype=np.int32)),
        _matrix(_shape=(2**31, 2**31)),
        _matrix(sparse.dia_matrix, _shape=(2**32 + 6, 3)),
        sparse.csr_array(np.array([[1 + 2j]])),
        sparse.csr_array(np.array([[np.inf]])),
        sparse.coo_array(([1.0], ([0], [0])), shape=(10**8, 2)),
    ],
)
def test_a_broken_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(DataError, match="the matrix"):
        xorec.read(matrix)


def test_frames_that_are_none(tmp_path: Path) -> None:
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"\xff\xfe")
    )
    wild = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 10**6, 2], dtype=np.int32)), pa.py_buffer(b"ab")
    )
    for users in (broken, wild):
        with pytest.raises(DataError, match="the data frame is broken"):
            xorec.read(pa.table({"user": users, "item": [1, 2]}))
    with pytest.raises(DataError, match="called 0, 1: give them names that are text"):
        xorec.read(pd.DataFrame([[1, 2]]))
    with pytest.raises(DataError, match="cannot be read"):
        xorec.read(pd.DataFrame([[1, 2, 3]], columns=["user", "user", "item"]))


def test_a_panic_of_polars_is_an_error_of_the_data() -> None:
    from xorec.data.io.base import polars_errors

    with pytest.raises(DataError, match=r"a.csv cannot be read \(oh no\)"), polars_errors("a.csv"):
        raise pl.exceptions.PanicException("oh no")


def test_paths_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    Path("file").write_text("1,2\n")
    for read in (xorec.read, xorec.load_data):
        for path in ("loop", "file/x", "a" * 5000, "a\0b", "/dev/null"):
            with pytest.raises(DataError):
                read(path)
    with pytest.raises(DataError, match="without ~"):
        xorec.load_data("~no-such-user-here/x")
