"""Data read by Spark: equal to what one machine reads, from everything that Spark can reach."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import xorec
from tests.support.same_data import assert_same_data
from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.data.prepare import prepare
from xorec.engines.pairs import PairFilters
from xorec.engines.registry import load_on
from xorec.engines.spark import tables
from xorec.engines.spark.engine import SparkEngine
from xorec.engines.spark.reading import fits_driver, is_for_spark, read_with_spark
from xorec.engines.spark.session import parse_spark_address

RNG = np.random.default_rng(8)
ROWS = 3000
PAIRS = pl.DataFrame(
    {
        "user": RNG.integers(0, 200, ROWS),
        "item": RNG.integers(0, 90, ROWS),
        "rating": RNG.integers(1, 6, ROWS).astype(np.float32),
    }
)
TEXT = PAIRS.select(
    customer_id=pl.format("ü-{}", "user"),
    product_id=pl.format("{}\u2028x", "item"),
    timestamp=pl.Series(RNG.permutation(ROWS) * 1_000_000).cast(pl.Datetime("us", "UTC")),
    quantity=pl.Series(RNG.random(ROWS)),
    split=pl.Series(RNG.choice(["train", "validation", "test"], ROWS)),
)


@pytest.fixture
def engine(spark: SparkEngine) -> Iterator[SparkEngine]:
    """Files are cut small."""
    settings = {
        "spark.sql.files.maxPartitionBytes": "16000",
        "spark.sql.files.openCostInBytes": "1000",
        "spark.sql.files.minPartitionNum": "1",
    }
    for name, value in settings.items():
        spark.session.conf.set(name, value)
    yield spark.with_partitions(3)
    for name in settings:
        spark.session.conf.unset(name)


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_parquet(engine: SparkEngine, tmp_path: Path, partitions: int) -> None:
    path = tmp_path / "orders a%20[1].parquet"
    frame = PAIRS if partitions < 3 else TEXT
    frame.write_parquet(path, row_group_size=700)
    before = engine.session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    found = read_with_spark(engine.with_partitions(partitions), path, block_rows=400)
    assert_same_data(found, xorec.read(path))
    assert engine.session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == before


def test_csv_in_stretches_and_the_core(engine: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    PAIRS.write_csv(path, include_header=False)
    filters: dict[str, Any] = {"min_rating": 2, "core": 8}
    found = read_with_spark(engine, path, filters=PairFilters(**filters))
    assert_same_data(found, prepare(xorec.read(path), **filters))
    assert found.n_pairs < ROWS * 0.8


def test_a_folder_of_parts_counts_in_the_order_of_names(
    engine: SparkEngine, tmp_path: Path
) -> None:
    whole, folder = tmp_path / "whole.csv.gz", tmp_path / "orders"
    folder.mkdir()
    (folder / "_SUCCESS").write_bytes(b"")
    for at, begin in enumerate(range(0, ROWS, 1100)):  # the last file is the shortest
        text = PAIRS[begin : begin + 1100].write_csv().encode()
        (folder / f"part-{at}.csv.gz").write_bytes(gzip.compress(text))
    whole.write_bytes(gzip.compress(PAIRS.write_csv().encode()))
    expected = xorec.read(whole)
    assert_same_data(read_with_spark(engine, folder), expected)
    assert_same_data(read_with_spark(engine, f"file://{folder}"), expected)
    assert np.any(expected.ratings != xorec.read(PAIRS.reverse()).ratings)  # the order matters


def test_a_folder_with_a_split_and_item_names(engine: SparkEngine, tmp_path: Path) -> None:
    PAIRS[:2000].write_csv(tmp_path / "train.csv")
    PAIRS[1500:].write_csv(tmp_path / "test.csv")
    names = pl.DataFrame({"item": np.arange(90), "title": [f"Tea {n}" for n in range(90)]})
    names.write_csv(tmp_path / "items.csv")
    found = read_with_spark(engine, tmp_path, filters=PairFilters(core=9))
    expected = prepare(xorec.read(tmp_path), core=9)
    assert_same_data(found, expected)
    assert found.names is not None
    assert expected.names is not None
    assert list(found.names) == list(expected.names)


def test_a_table_of_the_catalogue_and_the_command_line(engine: SparkEngine, tmp_path: Path) -> None:
    TEXT.write_parquet(tmp_path / "x.parquet", row_group_size=700)
    engine.session.read.parquet(str(tmp_path / "x.parquet")).createOrReplaceTempView("orders")
    options = RunOptions(engine=engine)
    found = load_on("spark-table:orders", options, {"core": 2}, since="1970-01-01T00:10:00Z")
    expected = prepare(xorec.read(tmp_path / "x.parquet", since=600), core=2)
    assert_same_data(found, expected)
    with pytest.raises(DataError, match=r"spark-table:nothing cannot be read \(.*nothing"):
        load_on("spark-table:nothing", options, {})
    engine.session.catalog.dropTempView("orders")


def test_a_database_by_jdbc(engine: SparkEngine, tmp_path: Path) -> None:
    url = f"jdbc:derby:memory:{tmp_path.name};create=true"
    system = engine.session._jvm.java.lang.System
    system.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    rows = [(row["user"], f"i{row['item']}", row["rating"]) for row in PAIRS[:200].to_dicts()]
    made = engine.session.createDataFrame(rows, "user_id int, item_id string, rating float")
    made.coalesce(1).write.jdbc(url, "orders")
    frame = PAIRS[:200].select(user_id="user", item_id=pl.format("i{}", "item"), rating="rating")
    query = 'SELECT "user_id", "item_id", "rating" FROM orders WHERE "rating" > 1'
    found = read_with_spark(engine, f"{url};query={query}")
    expected = xorec.read(frame.filter(pl.col("rating") > 1))
    assert found.digest() == expected.digest()
    assert np.array_equal(found.ratings, expected.ratings)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be read"):
        read_with_spark(engine, f"{url};table=nothing;password=s3cret")


def test_errors_are_those_of_one_machine(engine: SparkEngine, tmp_path: Path) -> None:
    lines = PAIRS.write_csv().splitlines()
    lines[2200] = ",7,3"
    lines[2900] = "1,7,good"
    path = tmp_path / "x.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError) as expected:
        xorec.read(path)
    with pytest.raises(DataError) as found:
        read_with_spark(engine, path)
    assert str(found.value) == str(expected.value)
    assert "data row 2,200" in str(found.value)
    lines[2200] = "nan,7,3"
    lines[2900] = "1,7,3"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="data row 2,200: the user is 'nan', a missing value"):
        read_with_spark(engine, path)


def test_what_spark_cannot_see_as_we_do_is_refused(engine: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame = PAIRS.with_columns(pl.col("user").cast(pl.UInt64))
    frame.write_parquet(path)
    with pytest.raises(DataError, match=r"decimal\(20,0\) values cannot be ids with Spark"):
        read_with_spark(engine, path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"x.parquet cannot be read \(.*say which with format"):
        read_with_spark(engine, path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is empty: give a file with interactions"):
        read_with_spark(engine, path)
    packed = tmp_path / "x.csv"
    packed.write_bytes(gzip.compress(b"user,item\n1,2\n"))
    with pytest.raises(DataError, match=r"is gzipped and not called \.gz"):
        read_with_spark(engine, packed)
    (tmp_path / "mixed").mkdir()
    PAIRS.write_csv(tmp_path / "mixed" / "a.csv")
    PAIRS.write_parquet(tmp_path / "mixed" / "a.parquet")
    with pytest.raises(DataError, match=r"several kinds \(\.csv, \.parquet\)"):
        read_with_spark(engine, tmp_path / "mixed")


def test_nothing_is_left_behind(engine: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item\n1,2\n,3\n")
    cached = engine.session.sparkContext._jsc.getPersistentRDDs
    before = cached().size()
    with pytest.raises(DataError):
        read_with_spark(engine, path)
    path.write_text("user,item\n1,2\n2,3\n")
    assert read_with_spark(engine, path).n_pairs == 2
    assert cached().size() == before


def test_who_reads_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").write_text("user,item\n1,2\n")
    parts, folder = tmp_path / "parts", tmp_path / "folder"
    for place, name in ((parts, "part-0.csv"), (folder, "interactions.csv")):
        place.mkdir()
        (place / name).write_text("user,item\n1,2\n")
    files = [str(tmp_path / "x.csv"), str(folder)]
    for source in (f"file://{tmp_path}/x.csv", str(parts), "hdfs://host/x", "spark-table:x"):
        assert is_for_spark(source)
    for source in ("debian", "-", "shop.duckdb?table=x", "postgresql://host/shop", "/no/such"):
        assert not is_for_spark(source)
    assert [is_for_spark(source) for source in files] == [False, False]
    monkeypatch.setattr("xorec.engines.spark.reading.physical_memory", lambda: 100)
    assert [is_for_spark(source) for source in files] == [True, True]


def test_rows_of_parquet_count_and_not_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"user": [1] * 10_000, "item": [2] * 10_000}).write_parquet(path)
    assert path.stat().st_size < 53 * 1000
    for memory, fits in ((4 * 53 * 10_000, True), (4 * 53 * 10_000 - 4, False)):
        monkeypatch.setattr("xorec.engines.spark.reading.physical_memory", lambda m=memory: m)
        assert fits_driver(path) == fits
    path.write_bytes(b"PAR1 and nothing else")
    assert fits_driver(path)


def test_what_a_job_has_written_beside_its_data_is_no_data(tmp_path: Path) -> None:
    parts = [tmp_path / "day=1" / "part-0.csv", tmp_path / "day=2" / "part-0.csv"]
    beside = [f"{day}/{name}" for day in ("day=1", "_temporary") for name in ("_log", ".x.crc")]
    for path in (*parts, *(tmp_path / one for one in ("_SUCCESS", "._SUCCESS.crc", *beside))):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert tables._part_files(tmp_path) == parts
    (tmp_path / "readme.txt").touch()
    with pytest.raises(DataError, match=r"several kinds .*csv.*txt"):
        tables._part_files(tmp_path)


@pytest.mark.parametrize(
    ("text", "url", "table", "query"),
    [
        ("jdbc:x://h/d?table=o", "jdbc:x://h/d", "o", ""),
        ("jdbc:x://h/d?a=1&table=s.o&b=2", "jdbc:x://h/d?a=1&b=2", "s.o", ""),
        ("jdbc:x://h/d?table=o&numPartitions=4&b=2", "jdbc:x://h/d?b=2", "o", ""),
        ("jdbc:x:d;create=true;query=SELECT 1 & 2", "jdbc:x:d;create=true", "", "SELECT 1 & 2"),
    ],
)
def test_addresses_of_databases(text: str, url: str, table: str, query: str) -> None:
    address = parse_spark_address(text)
    assert address is not None
    assert (address.url, address.table, address.query) == (url, table, query)
