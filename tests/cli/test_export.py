"""xorec export, and asking what was exported."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from xorec.recommender.recommender import Recommender
from xorec.representations.composed import ComposedCodes
from xorec.testing.store_models import codes, recommender_of, two_stage

from .conftest import Run, refused

ENDINGS = ("sqlite", "duckdb", "parquet", "npy", "faiss")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.xorec"
    users = [f"user {at}" for at in range(40)]
    recommender_of(codes(64), users=users, names=["Tee 🍵"] * 300).save(path)
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_store_answers_as_the_model_file(
    run: Run, shop: Path, tmp_path: Path, ending: str
) -> None:
    if ending in ("duckdb", "faiss"):
        pytest.importorskip(ending)
    to = tmp_path / "new" / f"a.{ending}"
    result = run.ok("export", shop, "--to", to, "--users", "-q")
    assert result.stdout.count("\n") == 2
    assert "300 items, 40 users" in result.stdout
    assert "the store ranks by Hamming distance, then tie_rank" in result.stdout
    for more in (("--json",), ("--seen", "--json"), ("--raw",), ("-k", 3)):
        asked = ("--user", "user 3", *more)
        assert run("recommend", to, *asked).stdout == run("recommend", shop, *asked).stdout != ""


def test_json_is_the_contract(run: Run, shop: Path, tmp_path: Path) -> None:
    to = tmp_path / "a.sqlite"
    told = run.json("export", shop, "--to", to, "--lists", 5)
    seen = len(Recommender.load(shop).seen[1])
    assert told.pop("seconds") > 0
    about = told["tables"].pop("about")
    assert about > 10
    assert told == {
        "to": str(to),
        "model": "dsiml",
        "ranking": "codes",
        "bits": 64,
        "description": "dsiml: 64-bit codes; the store ranks by Hamming distance, then tie_rank",
        "tables": {"items": 300, "users": 40, "seen": seen, "lists": 39 * 5},
    }


def test_sql_is_printed_and_nothing_is_written(run: Run, shop: Path, tmp_path: Path) -> None:
    to = tmp_path / "a.sqlite"
    text = run("export", shop, "--to", to, "--users", "--sql").stdout
    assert 'CREATE TABLE "items"' in text
    assert "ORDER BY distance, i.tie_rank LIMIT :k;" in text
    assert not to.exists()
    told = run.json("export", shop, "--to", to, "--sql")
    with sqlite3.connect(to) as made:
        made.executescript(told["tables"])
        made.create_function("hamming", 2, lambda one, other: 0)
        made.create_function("vec_bit", 1, lambda one: one)
        made.create_function("vec_distance_hamming", 2, lambda one, other: 0)
        assert made.execute(told["query"], {"item": 1000, "k": 3}).fetchall() == []
    refused(run("export", shop, "--to", tmp_path / "a.npy", "--sql"), "no SQL for it")


def test_what_each_model_is_exported_as(run: Run, tmp_path: Path, model: Path) -> None:
    """One line says it: codes, codes and a second stage, lists only."""
    to, file = tmp_path / "a.sqlite", tmp_path / "m.xorec"
    recommender_of(two_stage()).save(file)
    told = run("export", file, "--to", to, "--users").stdout
    assert "64-bit codes and item weights and vectors; the store finds by code" in told
    assert "item_vectors" in told
    assert "item_weights" in told
    refused(
        run("export", model, "--to", to, "--users"),
        "item-knn has no codes that a store could rank by",
        "--lists K",
    )
    told = run("export", model, "--to", to, "--lists", 10).stdout
    assert "item-knn: each user's 10 best items; the store does not rank" in told
    assert " rows of lists in " in told
    asked = ("--user", "u7", "--json")
    assert run("recommend", to, *asked).stdout == run("recommend", model, *asked).stdout


def test_weighted_groups_of_bits_have_no_distance(run: Run, tmp_path: Path) -> None:
    import numpy as np

    bare, file = codes(64), tmp_path / "m.xorec"
    eta, xi = (np.ones((n, 4), dtype=np.float32) for n in (bare.n_users, bare.n_items))
    recommender_of(ComposedCodes(bare.user_codes, bare.item_codes, eta, xi, 64)).save(file)
    refused(run("export", file, "--to", tmp_path / "a.sqlite"), "export its lists, with --lists K")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--to", "a.txt"), "is no address of a store: give a path that ends in"),
        (("--to", "a.sqlite?table=x"), "leave table= and query= out"),
        (("--to", f"a.sqlite?prefix={'x' * 33}"), "give up to 32 bytes"),
        (("--to", "a.sqlite", "--lists", "-1"), "lists is -1"),
        (("--to", "no/such\0place.sqlite"), "has a zero byte"),
    ],
)
def test_refusals_are_one_line(
    run: Run, shop: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    refused(run("export", shop, *words, "-q"), says)


def test_a_file_that_is_no_database(run: Run, shop: Path, tmp_path: Path) -> None:
    for ending in ("sqlite", "duckdb"):
        path = tmp_path / f"a.{ending}"
        path.write_text("user,item\n" * 1000)
        for words in (("export", shop, "--to", path), ("recommend", path, "--user", "x")):
            refused(run(*words, "-q"), f"a.{ending}")
        assert path.read_text() == "user,item\n" * 1000


def test_what_a_store_is_not_asked(run: Run, shop: Path, tmp_path: Path) -> None:
    to = tmp_path / "a.sqlite"
    run.ok("export", shop, "--to", to, "-q")
    for words in (
        ("--items", "1000"),
        ("--user", "user 3", "--deny", "1000"),
        ("--all-users", "-o", tmp_path / "x.csv"),
    ):
        refused(run("recommend", to, *words), "is asked for the list of a --user")
    assert "export the model again with --users" in run("recommend", to, "--user", "x").stderr
    missing = run("recommend", tmp_path / "b.duckdb", "--user", "x")
    assert "there is no export in" in missing.stderr
    assert not (tmp_path / "b.duckdb").exists()


def test_a_prefix_of_ones_own(run: Run, shop: Path, tmp_path: Path) -> None:
    """Two models in one database, under names that must be quoted."""
    to = tmp_path / "a.sqlite"
    for prefix in ('a"; DROP TABLE x; --', "b "):
        address = f"{to}?prefix={prefix}"
        run.ok("export", shop, "--to", address, "--users", "-q")
        asked = ("--user", "user 3", "--json")
        assert run("recommend", address, *asked).stdout == run("recommend", shop, *asked).stdout
    with sqlite3.connect(to) as made:
        names = {name for (name,) in made.execute("SELECT name FROM sqlite_master")}
    assert {'a"; DROP TABLE x; --items', "b items"} <= names
