"""Commands that take DATA take a database; and what they say and write has no secret in it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import xorec
from tests.support.postgresql import KINDS, PASSWORD, PostgreSQL, start

from .conftest import Run, refused


@pytest.fixture
def shop(ratings: Path, tmp_path: Path) -> str:
    """The ratings in SQLite, with times that go up; its address."""
    path = tmp_path / "shop.sqlite"
    rows = pl.read_csv(ratings).rows()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (user_id TEXT, item_id INT, rating INT, ts INT)")
        values = ((*row, 1000 + at) for at, row in enumerate(rows))
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", values)
    connection.close()
    return f"{path}?table=orders"


def test_a_fit_from_a_database_is_that_from_a_file(
    run: Run, shop: str, ratings: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "a.xorec", tmp_path / "b.xorec"]
    for data, file in zip((shop, ratings), files, strict=True):
        run.ok("fit", data, "--model", "item-knn", "-o", file, "--time-column", "", "-q")
    of_database, of_file = map(xorec.Recommender.load, files)
    assert of_database.metadata["data"] == of_file.metadata["data"]
    assert of_database.metadata["source"] == shop.replace("?", ", ").replace("=", " ")
    assert "source" not in of_file.metadata
    for user in [*of_file.user_ids][::20]:
        assert of_database.recommend(user) == of_file.recommend(user)


def test_evaluate_compare_split_and_info(run: Run, shop: str, tmp_path: Path) -> None:
    model, held_out = tmp_path / "m.xorec", tmp_path / "m.xorec.test.parquet"
    parts = tmp_path / "parts"
    early = shop.replace("table=orders", "query=SELECT * FROM orders WHERE ts < 2000")
    late = shop.replace("table=orders", "query=SELECT * FROM orders WHERE ts >= 2000")
    run.ok("fit", early, "--model", "popularity", "-o", model, "-q")
    assert not held_out.exists()
    answer = run.json("evaluate", model, late)
    assert answer["data"]["name"].startswith(f"{shop.partition('?')[0]}, query")
    assert answer["split"]["tested_pairs"] > 0
    assert run.json("data", "info", shop)["data"] == f"{shop.partition('?')[0]}, table orders"
    for words in (("compare", shop, "--models", "popularity"), ("split", shop, "-o", parts)):
        assert run.json(*words)["data"]["name"].endswith("table orders")


def test_update_since(run: Run, shop: str, tmp_path: Path) -> None:
    model, other = tmp_path / "m.xorec", tmp_path / "n.xorec"
    early = shop.replace("table=orders", "query=SELECT * FROM orders WHERE ts < 2000")
    run.ok("fit", early, "--model", "item-knn", "-o", model, "-q")
    before = xorec.Recommender.load(model)
    everything = xorec.read(shop)
    new = run.json("update", model, shop, "--since", 2000, "-o", other)["new"]
    assert new["pairs"] == everything.n_pairs - len(before.seen[1]) > 0
    after = xorec.Recommender.load(other)
    assert after.metadata["source"] == before.metadata["source"]
    digest = other.read_bytes()
    again = run.json("update", other, shop, "--since", "2030-01-01")
    assert again["new"] == {"users": 0, "items": 0, "pairs": 0}
    assert other.read_bytes() == digest
    said = run("update", other, shop, "--since", "2030-01-01")
    assert "no rows since" in said.stderr
    run.ok("update", other, shop, "--since", "2030-01-01", "-o", tmp_path / "c.xorec", "-q")
    assert xorec.Recommender.load(tmp_path / "c.xorec").metadata == after.metadata
    refused(run("update", other, shop, "--since", "soon"), "since is 'soon'")


def test_update_since_from_a_file(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("user_id,item_id,ts\nu1,1,5\nzoe,2,1000\nzoe,3,1001\n")
    words = ("update", model, path, "-o", tmp_path / "n.xorec", "--since")
    assert run.json(*words, 1000)["new"]["users"] == 1
    assert run.json(*words, 1001)["new"]["pairs"] == 1


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    pytest.importorskip("adbc_driver_postgresql", reason="ADBC is not installed")
    reasons = []
    for kind in KINDS:
        found, reason = start(kind, {"fsync": "off"})
        if found is not None:
            with found:
                yield found
            return
        reasons.append(reason)
    pytest.skip("; ".join(reasons))


def test_no_secret_in_what_is_said_or_written(
    run: Run,
    server: PostgreSQL,
    ratings: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A password in the address itself: fit, info, compare, evaluate, split, update, reproduce."""
    server.new_database("shop")
    with server.connect("shop") as connection:
        connection.execute("CREATE TABLE orders (user_id text, item_id bigint, rating int)")
        with connection.cursor().copy("COPY orders FROM STDIN (FORMAT csv, HEADER true)") as copy:
            copy.write(ratings.read_bytes())
    address = server.address_of("shop", password=PASSWORD)
    data = f"{address}?table=orders"
    model = tmp_path / "m.xorec"
    said: list[str] = []
    words: tuple[object, ...]
    with caplog.at_level(logging.DEBUG):
        for words in (
            ("fit", data, "--model", "item-knn", "--test", "0.2", "-o", model),
            ("data", "info", data, "--json"),
            ("data", "info", data),
            ("compare", data, "--models", "popularity", "--json"),
            ("evaluate", model, data, "--json"),
            ("split", data, "-o", tmp_path / "parts", "--json"),
            ("update", model, data, "--json"),
        ):
            done = run.ok(*words)
            said += [done.stdout, done.stderr]
        for words in (
            ("fit", f"{address}?table=nope", "-o", model),
            ("fit", f"{address}?query=SELECT nope FROM orders", "-o", model),
            ("fit", f"{address}?query=SELECT a, password='{PASSWORD}' FROM orders", "-o", model),
            ("fit", data, "--user-column", "nope", "-o", model),
            ("fit", data.replace(PASSWORD, f"{PASSWORD}x"), "-o", model),
            ("reproduce", "rq1", "--data", data, "--out", tmp_path / "report"),
        ):
            done = run(*words)
            assert done.exit_code == 2, done.output
            assert done.stderr.count("\n") <= 2
            said += [done.stdout, done.stderr]
    out, err = capfd.readouterr()
    said += [caplog.text, out, err, *(str(vars(one)) for one in caplog.records)]
    assert not [text for text in said if PASSWORD in text]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 4
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]
    masked = xorec.Recommender.load(model).metadata["source"]
    assert masked == f"postgresql://xorec@127.0.0.1:{server.port}/shop, table orders"
    assert any("no password; give it by PGPASSWORD" in text for text in said)
