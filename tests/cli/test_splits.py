"""Which pairs are tested: a split that the data brings along is used, and every answer names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import xorec
from xorec.data.interactions import TEST
from xorec.recommender.recommender import Recommender

from .conftest import Run
from .test_errors import refused


@pytest.fixture
def given(ratings: Path, tmp_path: Path) -> Path:
    """The ratings with a column that says train or test: 450 of 1,800 pairs are the test part."""
    head, *lines = ratings.read_text().splitlines()
    split = [f"{line},{'test' if n % 4 == 0 else 'train'}" for n, line in enumerate(lines)]
    path = tmp_path / "given.csv"
    path.write_text("\n".join([f"{head},fold", *split]) + "\n")
    return path


def answer(run: Run, *words: object) -> dict[str, Any]:
    result = run(*words, "--json", "-q")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


FOLD = ("--split-column", "fold")
QUICK = ("--models", "popularity", "--ks", 10)


def test_a_split_column_is_used_unless_told_otherwise(run: Run, given: Path) -> None:
    split = answer(run, "compare", given, *FOLD, *QUICK)["split"]
    assert (split["method"], split["column"], split["test_pairs"]) == ("given", "fold", 450)
    split = answer(run, "compare", given, *FOLD, *QUICK, "--split", "random")["split"]
    assert (split["method"], split["test_pairs"]) == ("random", 360)
    tuned = answer(
        run, "tune", given, *FOLD, "--model", "item-knn", "--trials", 1, "--study", f"{given}.s"
    )
    assert (tuned["split"]["method"], tuned["split"]["test_pairs"]) == ("given", 450)
    fitted = answer(
        run, "fit", given, *FOLD, "--model", "popularity", "-o", given.with_suffix(".xorec")
    )
    assert (fitted["split"]["method"], fitted["split"]["train_pairs"]) == ("given", 1350)


def test_tables_and_notes_name_the_split(run: Run, given: Path) -> None:
    result = run("compare", given, *FOLD, *QUICK)
    words = "given, column fold, seed 0; 1,215 train, 135 validation, 450 test pairs"
    assert f"Split: {words}." in result.stdout
    assert f"split: {words}\n" in result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_a_share_that_would_go_unused_is_refused(run: Run, given: Path) -> None:
    refused(run("compare", given, *FOLD, *QUICK, "--test", 0.3, "-q"), "--test", "--split random")
    result = answer(run, "compare", given, *FOLD, *QUICK, "--test", 0.3, "--split", "random")
    assert result["split"]["test_pairs"] == 540


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_parts_as_files_are_the_same_split(
    run: Run, ratings: Path, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "new" / "parts"
    made = run("split", ratings, "-o", folder, "--format", kind, "--seed", 5)
    assert made.exit_code == 0, made.output
    assert f"created the folder {folder.parent}" in made.stderr
    names = [f"{part}.{kind}" for part in ("test", "train", "validation")]
    assert sorted(file.name for file in folder.iterdir()) == names
    parts = xorec.split(xorec.read(ratings), validation=0.1, seed=5)
    back = xorec.read(folder)
    assert back.parts is not None
    assert back.digest() == xorec.read(ratings).digest()
    assert back.select(back.parts == TEST).indices.tolist() == parts.test.indices.tolist()
    assert back.ratings is not None
    assert back.ratings.tolist() == xorec.read(ratings).ratings.tolist()  # type: ignore[union-attr]
    words = ("--models", "item-knn", "--ks", 10)
    (here,) = answer(run, "compare", folder, *words)["rows"]
    (there,) = answer(run, "compare", ratings, *words, "--seed", 5)["rows"]
    assert (here["ndcg@10"], here["recall@10"]) == (there["ndcg@10"], there["recall@10"])
    refused(run("split", ratings, "-o", folder, "-q"), "parts", "not an empty folder")


def test_ids_that_look_like_numbers_stay_text_and_items_keep_what_is_known(
    run: Run, tmp_path: Path
) -> None:
    rows = [(str(user), str(item), 100 + user) for user in range(9) for item in range(9)]
    frame = pl.DataFrame(rows, schema=["user", "item", "time"], orient="row")
    frame.write_parquet(tmp_path / "text.parquet")
    info = [f"{item},No. {item},{'a|b' if item % 2 else 'c'}" for item in range(9)]
    (tmp_path / "info.csv").write_text("item,name,category\n" + "\n".join(info) + "\n")
    source = (tmp_path / "text.parquet", "--item-info", tmp_path / "info.csv")
    for kind in ("csv", "parquet"):
        folder = tmp_path / kind
        assert run("split", *source, "-o", folder, "--format", kind, "-q").exit_code == 0
        back = xorec.read(folder)
        assert back.users.take([0]) == ["0"]
        assert back.times is not None
        assert back.times[back.indptr[3]] == 103
        assert back.names is not None
        assert back.categories is not None
        assert (back.names[4], back.categories.of(3)) == ("No. 4", ["a", "b"])


def test_what_fails_leaves_no_folder(run: Run, ratings: Path, tmp_path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        result = run("split", ratings, "-o", tmp_path / "parts", "--format", "csv", "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    refused(result, "cannot write", "parts")
    assert list(tmp_path.iterdir()) == []


def test_fit_keeps_the_test_part_for_evaluate(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "m.xorec"
    result = run("fit", ratings, "--model", "item-knn", "--test", 0.2, "-o", out)
    assert f"created the folder {out.parent}" in result.stderr
    assert sorted(file.name for file in out.parent.iterdir()) == ["m.xorec", "m.xorec.test.parquet"]
    found = answer(run, "evaluate", out)
    assert found["rows"][0]["test_items"] == found["split"]["test_pairs"] == 360
    assert (found["split"]["method"], found["split"]["seed"]) == ("random", 0)
    compared = answer(run, "compare", ratings, "--models", "item-knn")["rows"][0]
    assert found["rows"][0]["ndcg@10"] == compared["ndcg@10"]
    assert "Split: random, seed 0; 360 test pairs." in run("evaluate", out, "-q").stdout
    assert run("fit", ratings, "--model", "item-knn", "-o", out, "-q").exit_code == 0
    refused(run("evaluate", out), "DATA", "m.xorec.test.parquet", "--test 0.2")


def test_fit_keeps_a_given_test_part_too(run: Run, given: Path) -> None:
    out = given.with_suffix(".xorec")
    words = ("--model", "item-knn", "-o", out, "-q")
    assert run("fit", given, *FOLD, *words).exit_code == 0
    here, there = answer(run, "evaluate", out), answer(run, "evaluate", out, given, *FOLD)
    assert here["rows"][0]["ndcg@10"] == there["rows"][0]["ndcg@10"]
    assert here["split"]["column"] == there["split"]["column"] == "fold"
    assert there["split"]["part"] == "test"
    new = Recommender.load(out).recommend("u7", 1).ids()[0]
    (given.parent / "more.csv").write_text(f"user,item\nu7,{new}\n")
    assert answer(run, "evaluate", out, given.parent / "more.csv")["split"]["method"] == "unseen"


def test_evaluate_names_ids_that_do_not_match(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "foreign.csv"
    data.write_text("user,item\n1,1003\n2,1008\n")
    refused(run("evaluate", model, data, "-q"), "no user of the data", "1, 2", "'u0'", "'1' is not")
    data.write_text("user,item\nu7,5\nu8,6\n")
    refused(run("evaluate", model, data, "-q"), "no item of the data", "5, 6", "1000")
    seen = Recommender.load(model)
    item = seen.item_ids[int(seen.items_of(seen.user_row("u7"))[0])]
    data.write_text(f"user,item\nu7,{item}\n")
    refused(run("evaluate", model, data, "-q"), "nothing to test on", "fitted on them")
