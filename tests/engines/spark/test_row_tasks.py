"""What Spark's processes do with lines, without Spark: any cut gives what `read` gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xorec
from tests.support.same_data import assert_same_data
from xorec.core.engine import LocalEngine
from xorec.core.errors import DataError
from xorec.data.interactions import Interactions
from xorec.data.io.columns import choose_columns
from xorec.data.io.data_file import DataFile, FileLimits, Layout
from xorec.data.io.encode import Weighing
from xorec.data.io.registry import format_of
from xorec.engines.pairs import PairFilters, to_interactions
from xorec.engines.spark.blocks import unpack
from xorec.engines.spark.reading import checked_rows
from xorec.engines.spark.row_tasks import FILE, LINE, START, ReadBlocks, open_text

ROLES = ("user", "item", "rating", "weight", "time", "split")


def batches_of(lines: Sequence[bytes], cuts: Sequence[int], splits: set[int]) -> Iterator[Any]:
    """Lines as Spark hands them over: in batches, in stretches that begin at `splits`."""
    start = place = 0
    for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        if begin in splits:
            start = place
        rows = lines[begin:end]
        columns = {
            FILE: pa.array([77] * len(rows), pa.int64()),
            START: pa.array([start] * len(rows), pa.int64()),
            LINE: pa.array(rows, pa.binary()),
        }
        place += sum(map(len, rows))
        yield pa.record_batch(columns)


def read_in_pieces(
    path: Path,
    cuts: Sequence[int] = (),
    splits: set[int] | None = None,
    rows: int = 5,
    **options: Any,
) -> Interactions:
    """The file as `read_with_spark` reads it, in this process."""
    content = path.read_bytes()
    wanted = {role: options.get(f"{role}_column") for role in ROLES}
    named = tuple(name for name in wanted.values() if name)
    layout = Layout(options.get("separator"), options.get("has_header"), named)
    kind = format_of(DataFile(path, FileLimits(), layout, content), options.get("format"))
    rules, text = open_text(str(path), content, kind.name, layout, FileLimits())
    columns = choose_columns(rules.columns, wanted, rules.name, rules.positions)
    task = ReadBlocks(str(path), columns, (77,), rows, text=text)
    lines = [line + b"\n" for line in content.split(b"\n")]
    lines = lines[:-1] if content.endswith(b"\n") else lines
    made = [batch.to_pylist()[0] for batch in task(batches_of(lines, cuts, splits or set()))]
    facts = sorted(made, key=lambda one: one["block"])
    assert len({one["block"] for one in facts}) == len(facts)
    blocks = [unpack(one["data"]) for one in facts if one["rows"]]
    by_repeats = options.get("weight_column") == "repeats"
    found = checked_rows(facts, blocks, rules, columns)
    weighing = Weighing(by_repeats=by_repeats)
    return to_interactions(LocalEngine(1), found, weighing, PairFilters(), block_rows=rows)


def lines_of(pattern: str, count: int = 40, header: str = "") -> str:
    """`count` lines; a, b and c in the pattern are remainders of the number of the line, n."""
    rows = ({"n": n, "a": n % 5, "b": n % 7, "c": n % 3, "part": n / 4} for n in range(1, count))
    return header + "".join(pattern.format(**row) + "\n" for row in rows)


TABLE = lines_of("{a},{b},{c},160000000{c}", header="user,item,rating,timestamp\n")
TWICE = "user,item\n" + "ann,tea\nbob,tea\nann,tea\n" * 9
FILES: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
    "integers": ("x.csv", TABLE, {}),
    "no header": ("x.csv", TABLE.partition("\n")[2], {}),
    "text": ("x.tsv", lines_of("u{b}\tü{c}", header="user\titem\n"), {}),
    "007 is text": ("x.csv", lines_of("00{b},{n}", header="user,item\n"), {}),
    "late text": ("x.csv", lines_of("{n},{c}", header="user,item\n") + "x,1\n", {}),
    "quoted numbers": ("x.csv", "user,item\n" + '"1","2"\n"2","2"\n"1","3"\n' * 9, {}),
    "quoted separators": ("x.csv", "user,item\n" + '"a, b",tea\n"c ""d""",milk\n' * 9, {}),
    "blank lines": ("x.csv", "user,item\n1,2\n\n2,2\n\n\n" + "3,2\n\n" * 9, {}),
    "CRLF": ("x.csv", TABLE.replace("\n", "\r\n"), {}),
    "no end of line": ("x.csv", TABLE[:-1], {}),
    "mark of UTF-8": ("x.csv", b"\xef\xbb\xbf" + TABLE.encode(), {}),
    "repeats": ("x.csv", TWICE, {}),
    "counted": ("x.csv", TWICE, {"weight_column": "repeats"}),
    "weights": (
        "x.csv",
        lines_of("{c},{a},{part},{b}", header="user,item,plays,when\n"),
        {"time_column": "when"},
    ),
    "a given split": (
        "x.csv",
        lines_of("{c},{a},{part},{b}", header="user,item,plays,split\n")
        .replace(",0\n", ",train\n")
        .replace(",3\n", ",train\n")
        .replace(",4\n", ",2\n")
        .replace(",5\n", ",test\n")
        .replace(",6\n", ",validation\n"),
        {},
    ),
    "dates": ("x.csv", lines_of("{c},{a},2024-02-1{b}", header="user,item,date\n"), {}),
    "fractions": ("x.csv", lines_of("{c},1,{part}", header="user,item,time\n"), {}),
    "MovieLens": ("ratings.dat", lines_of("{a}::{b}::{c}::97830000{b}"), {}),
    "blanks divide": ("u.dat", lines_of("{a}   {b} \t {c}"), {}),
    "RecBole": ("x.inter", "user_id:token\titem_id:token\n" + 'a"\t5\nb\t6\n' * 9, {}),
    "JSON lines": ("x.jsonl", lines_of('{{"user": "a\\"{c}", "item": {b}}}'), {}),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "cuts",
    [
        *(pytest.param(cuts, marks=pytest.mark.exhaustive) for cuts in ((), (10,))),
        (3, 4, 11, 20),
    ],
)
def test_any_cut_of_a_file_is_read_as_the_whole_is(
    tmp_path: Path, name: str, cuts: tuple[int, ...]
) -> None:
    file, content, options = FILES[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    expected = xorec.read(path, **options)
    for splits in (set[int](), set(cuts)):
        for rows in (1, 6, 1000):
            assert_same_data(read_in_pieces(path, cuts, splits, rows, **options), expected)


WRONG: list[str | bytes] = [
    "user,item\n" + "1,2\n" * 9 + ",3\n",
    "user,item\n" + "1,2\n" * 9 + "1\n",
    "user,item\n" + "1,2\n" * 9 + '"",3\n',
    "user,item\n" + "1,2\n" * 9 + "3,NaN\n4,nan\n",
    "user,item\n" + "1,2\n" * 9 + "null,3\nNA,4\n",
    "user,item,rating\n" + "1,2,3\n" * 9 + "1,3,good\n",
    "user,item,rating\n" + "1,2,3\n" * 9 + "1,3,\n",
    "user,item,time\n" + "1,2,3\n" * 9 + "1,3,soon\n",
    "user,item,plays\n" + "1,2,3\n" * 9 + "1,3,0\n",
    "user,item,split\n" + "1,2,train\n" * 9 + "1,3,other\n",
    b"user,item\n" + b"1,2\n" * 9 + b"\xff\xfe,3\n",
    "user,item\n" + "a,2\n" * 9 + "b\0c,3\n",
    "user,item\n",
]


@pytest.mark.parametrize("content", WRONG)
def test_what_is_wrong_is_said_as_of_the_whole_file(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as expected:
        xorec.read(path)
    for cuts in ((), (4,), (2, 7)):
        if len(content.splitlines()) > max(cuts, default=0):
            with pytest.raises(DataError) as found:
                read_in_pieces(path, cuts, set(cuts), rows=3)
            assert str(found.value) == str(expected.value)


def test_a_line_break_inside_quotation_marks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('user,item\n1,"a\nb"\n2,c\n')
    with pytest.raises(DataError, match=r"line break inside .* convert it to Parquet\.$"):
        read_in_pieces(path)


def test_lists_of_items_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 2 3 4 5 6\n2 3\n3 1 2\n")
    with pytest.raises(DataError, match=r"list of items a line.*--engine local"):
        read_in_pieces(path)


def test_a_file_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item\n1,2\n")
    rules, text = open_text(str(path), b"item,user\n5,6\n", "csv", Layout(), FileLimits())
    columns = choose_columns(rules.columns, {}, rules.name, ())
    lines = [b"user,item\n", b"1,2\n"]
    (made,) = ReadBlocks(str(path), columns, (77,), 9, text=text)(batches_of(lines, (), set()))
    assert "give them the same columns" in made.to_pylist()[0]["error"]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_random_rows_in_random_pieces(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    some_id = st.text("ab01é,\"' -", min_size=1, max_size=3)
    some_id = some_id.filter(lambda text: text.strip() not in ("", "-"))  # those are missing values
    rows = data.draw(
        st.lists(st.tuples(some_id, some_id, st.integers(0, 3)), min_size=2, max_size=30)
    )
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows)), max_size=4)))
    splits = set(data.draw(st.sets(st.sampled_from(cuts))) if cuts else ())
    field = '"{}"'.format
    lines = [
        ",".join([*(field(one.replace('"', '""')) for one in ids), f"{time}\n"])
        for *ids, time in rows
    ]
    path = tmp_path_factory.mktemp("rows") / "x.csv"
    path.write_text("user,item,time\n" + "".join(lines))
    expected = xorec.read(path)
    assert_same_data(read_in_pieces(path, cuts, splits, rows=4), expected)
    assert np.sum(expected.user_counts) == len({row[:2] for row in rows})
