"""Which pairs are tested: a split that the data brings along is used, and every answer names it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import xorec
from xorec.data.interactions import TEST
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused, width_of

FOLD = ("--split-column", "fold")
QUICK = ("--models", "popularity", "--ks", 10)


def test_a_split_column_is_used_unless_told_otherwise(run: Run, given: Path) -> None:
    split = run.json("compare", given, *FOLD, *QUICK)["split"]
    assert (split["method"], split["column"], split["test_pairs"]) == ("given", "fold", 450)
    split = run.json("compare", given, *FOLD, *QUICK, "--split", "random")["split"]
    assert (split["method"], split["test_pairs"]) == ("random", 360)
    tuned = run.json(
        "tune", given, *FOLD, "--model", "item-knn", "--trials", 1, "--study", f"{given}.s"
    )
    assert (tuned["split"]["method"], tuned["split"]["test_pairs"]) == ("given", 450)
    fitted = run.json(
        "fit", given, *FOLD, "--model", "popularity", "-o", given.with_suffix(".xorec")
    )
    assert (fitted["split"]["method"], fitted["split"]["train_pairs"]) == ("given", 1350)


def test_tables_and_notes_name_the_split(run: Run, given: Path) -> None:
    result = run("compare", given, *FOLD, *QUICK)
    words = "given, column fold, seed 0; 1,215 train, 135 validation, 450 test pairs"
    assert f"Split: {words}." in result.stdout
    assert f"split: {words}\n" in result.stderr
    assert width_of(result.stdout) <= 80


def test_a_share_that_would_go_unused_is_refused(run: Run, given: Path) -> None:
    refused(run("compare", given, *FOLD, *QUICK, "--test", 0.3, "-q"), "--test", "--split random")
    result = run.json("compare", given, *FOLD, *QUICK, "--test", 0.3, "--split", "random")
    assert result["split"]["test_pairs"] == 540


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_parts_as_files_are_the_same_split(
    run: Run, ratings: Path, tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "new" / "parts"
    made = run.ok("split", ratings, "-o", folder, "--format", kind, "--seed", 5)
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
    (here,) = run.json("compare", folder, *words)["rows"]
    (there,) = run.json("compare", ratings, *words, "--seed", 5)["rows"]
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
        run.ok("split", *source, "-o", folder, "--format", kind, "-q")
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
    found = run.json("evaluate", out)
    assert found["rows"][0]["test_items"] == found["split"]["test_pairs"] == 360
    assert (found["split"]["method"], found["split"]["seed"]) == ("random", 0)
    compared = run.json("compare", ratings, "--models", "item-knn")["rows"][0]
    assert found["rows"][0]["ndcg@10"] == compared["ndcg@10"]
    assert "Split: random, seed 0; 360 test pairs." in run("evaluate", out, "-q").stdout
    run.ok("fit", ratings, "--model", "item-knn", "-o", out, "-q")
    refused(run("evaluate", out), "DATA", "m.xorec.test.parquet", "--test 0.2")


def test_fit_keeps_a_given_test_part_too(run: Run, given: Path) -> None:
    out = given.with_suffix(".xorec")
    fitted = run.ok("fit", given, *FOLD, "--model", "item-knn", "-o", out)
    assert "450 test pairs of the split left out" in fitted.stderr
    assert Recommender.load(out).metadata["data"]["pairs"] == 1350
    here, there = run.json("evaluate", out), run.json("evaluate", out, given, *FOLD)
    assert there["rows"][0]["test_items"] == 450
    assert there["rows"][0]["ndcg@10"] > 0.1
    assert here["rows"][0]["ndcg@10"] == there["rows"][0]["ndcg@10"]
    assert here["split"]["column"] == there["split"]["column"] == "fold"
    assert there["split"]["part"] == "test"
    new = Recommender.load(out).recommend("u7", 1).ids()[0]
    (given.parent / "more.csv").write_text(f"user,item\nu7,{new}\n")
    assert run.json("evaluate", out, given.parent / "more.csv")["split"]["method"] == "unseen"


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
