from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import xorec
from xorec.cli import doctor
from xorec.core.options import RunOptions
from xorec.models import MODELS
from xorec.models.factorization.bpr import BPR
from xorec.recommender.recommender import Recommender

from .conftest import Run, refused, width_of


def rows_of(lists: Path) -> list[list[str]]:
    """The rows of a CSV file of lists."""
    return [line.split(",") for line in lists.read_text().splitlines()[1:]]


def test_fit_writes_a_model_and_leaves_no_checkpoint(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.xorec"
    words = ("--model", "bpr", "-o", out, "--epochs", 3, "--dimensions=8")
    result = run.ok("fit", ratings, *words, "-q")
    assert [file.name for file in tmp_path.iterdir()] == ["m.xorec"]
    config = Recommender.load(out).metadata["config"]
    assert (config["epochs"], config["dimensions"]) == (3, 8)
    assert "bpr" in result.stdout
    assert result.stderr == ""


def test_fit_with_validation_finds_epochs_then_learns_from_all(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.xorec"
    words = ("--model", "bpr", "-o", out, "--epochs", 6, "--validation", 0.2)
    found = run.json("fit", ratings, *words)
    row = found["rows"][0]
    assert 1 <= row["config"]["epochs"] <= 6
    assert found["data"]["pairs"] == 120 * 15
    assert Recommender.load(out).metadata["config"] == row["config"]


def test_settings_from_a_file_and_the_command_line_wins(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text("[bpr]\nepochs = 2\ndimensions = 4\n[item-knn]\nshrink = 1\n")
    words = ("--config", tmp_path / "s.toml", "--model", "bpr", "-o", tmp_path / "m", "-q")
    run.ok("fit", ratings, *words, "--epochs", 1)
    config = Recommender.load(tmp_path / "m").metadata["config"]
    assert (config["epochs"], config["dimensions"]) == (1, 4)


def test_recommend_prints_raw_ids_and_json_is_the_contract(run: Run, model: Path) -> None:
    asked = ("recommend", model, "--user", "u7", "-k", 4)
    best, table, answer = Recommender.load(model).recommend("u7", 4), run(*asked), run.json(*asked)
    assert all(str(one) in table.stdout for one in best.ids())
    assert width_of(table.stdout) <= 80
    assert set(answer) == {"user", "items"}
    assert answer["user"] == "u7"
    assert [set(item) for item in answer["items"]] == [{"id", "name", "distance", "score"}] * 4
    assert [item["id"] for item in answer["items"]] == best.ids()


def test_rules_hold_for_somebody_new_and_seen_for_everybody(run: Run, model: Path) -> None:
    shop, new, every = Recommender.load(model), "1008,1003", {*range(1000, 1080)}

    def listed(*words: object) -> list[int]:
        answer = run.json("recommend", model, *words, "-k", 80)
        return [item["id"] for item in answer["items"]]

    assert listed("--items", new) == shop.recommend_for([1008, 1003], 80).ids()
    assert set(listed("--items", new, "--allow", "1011, 1008,1002")) == {1002, 1011}
    denied = listed("--items", new, "--deny", "1011, 1002")
    assert set(denied) == every - {1002, 1003, 1008, 1011}
    assert sorted(listed("--user", "u7", "--seen")) == sorted(every)
    own = set(shop.item_ids.take(shop.items_of(shop.user_row("u7"))))
    assert set(listed("--user", "u7")) == every - own
    assert set(listed("--user", "u7", "--allow", "1003,1008,1011")) == {1003, 1008, 1011} - own
    assert 1003 not in listed("--user", "u7", "--seen", "--deny", 1003)
    table = run("recommend", model, "--user", "u7", "-k", 3).stdout.splitlines()
    ranks = [line.split()[0] for line in table if line.split() and line.split()[0].isdigit()]
    assert ranks == ["1", "2", "3"]


@pytest.mark.parametrize("words", [(), ("--seen",)])
def test_lists_of_everybody_are_the_lists_one_by_one(
    run: Run, model: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    lists, shop = tmp_path / "lists.csv", Recommender.load(model)
    run.ok("recommend", model, "--all-users", "-k", 4, "-o", lists, *words, "-q")
    for user in ("u0", "u7", "u119"):
        found = [int(row[2]) for row in rows_of(lists) if row[0] == user]
        assert found == shop.recommend(user, 4, seen=bool(words)).ids()
    rules = ("--allow", "1003,1008,1011", "--deny", "1008", *words)
    run.ok("recommend", model, "--all-users", *rules, "-o", lists, "-q")
    assert {row[2] for row in rows_of(lists)} == {"1003", "1011"}


def test_fit_goes_on_with_resume_alone(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was learned is kept until the model is written."""
    out = tmp_path / "m.xorec"
    words = ("fit", ratings, "--model", "bpr", "--epochs", 3, "--seed", 5, "-o", out)

    def stopped() -> int:
        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Recommender, "save", stop)
            return run(*words).exit_code

    assert stopped() == 130
    assert not out.exists()
    assert "resumed" not in run(*words).stderr
    whole = out.read_bytes()
    stopped()
    assert "bpr: resumed after epoch 3." in run(*words, "--resume").stderr
    assert out.read_bytes() == whole
    assert Recommender.load(out).metadata["seed"] == 5


def test_the_seed_and_the_settings_are_those_that_were_given(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m.xorec"
    words = ("--epochs", 2, "--dimensions", 4, "--learning-rate", 0.05, "--seed", 6, "-q")
    run.ok("fit", ratings, "--model", "bpr", *words, "-o", out)
    plain = BPR(epochs=2, dimensions=4, learning_rate=0.05)
    plain.fit(xorec.read(ratings), options=RunOptions(seed=6))
    found = Recommender.load(out).representation.tensors()
    for name, tensor in plain.representation_.tensors().items():
        np.testing.assert_array_equal(found[name], tensor)


def test_evaluate_takes_the_part_that_is_asked_for(run: Run, model: Path, tmp_path: Path) -> None:
    first, second = Recommender.load(model).recommend("u7", 2).ids()
    data = tmp_path / "split.csv"
    data.write_text(f"user_id,item_id,split\nu7,{first},validation\nu7,{second},test\n")
    values = {}
    for part in ("test", "validation"):
        answer = run.json("evaluate", model, data, "--part", part)
        assert answer["split"]["part"] == part
        values[part] = answer["rows"][0]["mrr@10"]
    assert values == {"test": 0.5, "validation": 1.0}


def test_compare_takes_settings_and_cut_offs(run: Run, ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[bpr]\nepochs = 1\ndimensions = 4\n")
    words = ("--models", "bpr", "--config", tmp_path / "s.toml", "--ks", "20,5")
    (row,) = run.json("compare", ratings, *words)["rows"]
    assert row["dimensions"] == 4
    assert "ndcg@20_low" in row
    assert "ndcg@10" not in row


def test_lists_for_all_users_and_items(run: Run, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.csv"
    facts = run.json("recommend", model, "--all-users", "-k", 4, "-o", lists)
    assert (facts["lists"], facts["rows"], facts["k"]) == (120, 480, 4)
    alike = tmp_path / "alike.parquet"
    assert "320 rows" in run("similar", model, "--all-items", "-k", 4, "-o", alike, "-q").stdout
    refused(run("recommend", model, "--all-users"), "-o FILE.parquet")
    refused(run("recommend", model, "--all-users", "--user", "u7"), "say for whom")
    one = ("recommend", model, "--user", "u7", "-o", tmp_path / "one.csv")
    refused(run(*one), "give --all-users")  # and is not written in silence
    assert not (tmp_path / "one.csv").exists()


def test_an_engine_is_for_many_lists(run: Run, model: Path, tmp_path: Path) -> None:
    for words, option in (
        (("recommend", model, "--user", "u7"), "--all-users"),
        (("recommend", model, "--items", "1003"), "--all-users"),
        (("similar", model, "--item", 1003), "--all-items"),
    ):
        for engine in (("--engine", "spark:local[2]"), ("--partitions", 2)):
            says = f"for many lists: give {option}, or leave them out."
            refused(run(*words, *engine), says)
    everybody = ("recommend", model, "--all-users", "-o", tmp_path / "lists.csv", "-q", "--engine")
    run.ok(*everybody, "local")
    refused(run(*everybody, "spork:local[2]"), "Did you mean 'spark'?")
    refused(run(*everybody, "local", "--partitions", 2), "--partitions is for Spark")


def test_similar(run: Run, model: Path, ratings: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "bpr.xorec"
    run.ok("fit", ratings, "--model", "bpr", "--epochs", 2, "-o", vectors, "-q")
    for file, kind, one in ((model, "item", 1003), (vectors, "user", "u7")):
        answer = run.json("similar", file, f"--{kind}", one, "-k", 3)
        assert answer[kind] == one
        ids = [found["id"] for found in answer[f"{kind}s"]]
        assert len(ids) == 3
        assert one not in ids
    assert width_of(run.ok("similar", model, "--item", 1003).stdout) <= 80
    refused(run("similar", model, "--user", "u7"), "does not compare users")


def test_explain(run: Run, model: Path) -> None:
    shop = Recommender.load(model)
    offered = shop.recommend("u7", 3).ids()[2]
    why = shop.explain("u7", offered, k=2)
    answer = run.json("explain", model, "--user", "u7", "--item", offered, "-k", 2)
    assert (answer["user"], answer["item"], answer["rank"]) == ("u7", offered, 3)
    assert (answer["seen"], answer["score"], answer["distance"]) == (False, why.score, None)
    assert [one["id"] for one in answer["because"]] == [one.id for one in why.because]
    text = run("explain", model, "--user", "u7", "--item", offered).stdout
    assert width_of(text) <= 80
    assert f"u7 and {offered}: place 3 of the list." in text
    new = run("explain", model, "--items", "1003,1008", "--item", 1008).stdout
    assert "The new user and 1008: has it already." in new


QUICK = ("--model", "dsiml", "--epochs", 2, "--start", json.dumps({"epochs": 5}), "-q")


def test_a_model_of_codes_says_its_bits(run: Run, ratings: Path, tmp_path: Path) -> None:
    out, new = tmp_path / "shop.xorec", tmp_path / "new.csv"
    run.ok("fit", ratings, *QUICK, "--bits", 20, "-o", out)
    shop = Recommender.load(out)
    why = shop.explain("u7", 1003)
    text = run("explain", out, "--user", "u7", "--item", 1003).stdout
    assert f"{why.bits_agreed} of 20 bits agree, {why.distance} differ." in text
    assert width_of(text) <= 80
    report = run.json("doctor", out)
    assert (report["bits"], report["codes digest"]) == (20, shop.metadata["codes"]["digest"])
    new.write_text(f"user_id,item_id\nu7,{shop.recommend('u7', 1).ids()[0]}\n")
    (row,) = run.json("evaluate", out, new)["rows"]
    assert (row["model"], row["bits"]) == ("dsiml", 20)


def test_a_model_of_two_stages_is_fitted_and_asked(run: Run, ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "two.xorec"
    two = ("--bits", 32, "--shortlist", 20, "--vector-dtype", "int8")
    run.ok("fit", ratings, *QUICK, *two, "-o", out)
    loaded = Recommender.load(out)
    assert loaded.representation.kind == "two-stage"
    answer = run.json("recommend", out, "--user", "u7", "-k", 5)
    assert [item["id"] for item in answer["items"]] == loaded.recommend("u7", 5).ids()
    assert len(run.json("recommend", out, "--items", "1003,1008", "-k", 3)["items"]) == 3
    run.ok("similar", out, "--item", 1003)
    run.ok("explain", out, "--user", "u7", "--item", 1003)


def test_compare_json_is_the_contract(run: Run, ratings: Path) -> None:
    answer = run.json("compare", ratings, "--models", "popularity,item-knn")
    assert set(answer) == {"data", "split", "rows"}
    assert [row["model"] for row in answer["rows"]] == ["popularity", "item-knn"]
    for row in answer["rows"]:
        for name in (
            *("ndcg@10", "recall@20", "hr@10", "user_hr@10", "ndcg@10_expected"),
            *("seconds_fit", "bytes", "us_per_query", "ndcg@10_low", "ndcg@10_high"),
        ):
            assert isinstance(row[name], int | float), name
        assert row["ndcg@10_low"] <= row["ndcg@10"] <= row["ndcg@10_high"]
    assert answer["split"]["method"] == "random"


def test_compare_has_a_row_for_each_number_of_bits(run: Run, ratings: Path, tmp_path: Path) -> None:
    quick = tmp_path / "quick.toml"
    quick.write_text("[dsiml]\nepochs = 2\nstart = {epochs = 3}\n[siml]\nepochs = 3\n")
    words = ("--models", "dsiml,popularity,siml", "--bits", "20,64,20", "-q", "--config", quick)
    rows = run.json("compare", ratings, *words)["rows"]
    found = [(row["model"], row.get("bits"), row.get("dimensions")) for row in rows]
    codes = [("dsiml", 20, None), ("dsiml", 64, None)]
    assert found == [*codes, ("popularity", None, None), ("siml", None, 64)]
    table = run("compare", ratings, *words).stdout
    heads = [line.split()[:2] for line in table.splitlines() if "dsiml" in line]
    assert heads == [["dsiml", "20"], ["dsiml", "64"]]
    assert width_of(table) <= 80


def test_compare_by_category(run: Run, ratings: Path, tmp_path: Path) -> None:
    info = [f"{item},{'odd' if item % 2 else 'even'}" for item in range(1000, 1080)]
    (tmp_path / "items.csv").write_text("item,category\n" + "\n".join(info) + "\n")
    words = ("--models", "popularity,item-knn", "--item-info", tmp_path / "items.csv", "-q")
    answer = run.json("compare", ratings, *words, "--by-category")
    found = sorted((row["model"], row["category"]) for row in answer["categories"])
    assert found == [(one, c) for one in ("item-knn", "popularity") for c in ("even", "odd")]
    tested = sum(row["test_items"] for row in answer["categories"]) / 2
    assert tested == answer["split"]["test_pairs"]
    table = run("compare", ratings, *words, "--by-category").stdout
    assert "odd" in table
    assert width_of(table) <= 80


def test_evaluate_leaves_out_what_the_model_has_seen(
    run: Run, ratings: Path, model: Path, tmp_path: Path
) -> None:
    seen = ratings.read_text().splitlines()[1]
    user, item, _ = seen.split(",")
    recommended = Recommender.load(model).recommend(user, 1).ids()[0]
    rows = [seen, f"{user},{recommended},5", f"nobody,{item},5", f"{user},-4,5"]
    (tmp_path / "new.csv").write_text("user_id,item_id,rating\n" + "\n".join(rows) + "\n")
    answer = run.json("evaluate", model, tmp_path / "new.csv")
    (row,) = answer["rows"]
    assert (row["users"], row["test_items"], row["ndcg@10"]) == (1, 1, 1.0)
    notes = answer["data"]["notes"]
    assert any("2 pairs left out: their user or item" in note for note in notes)
    assert any("1 pairs left out: the model was fitted" in note for note in notes)


def test_models_lists_settings_with_ranges(run: Run) -> None:
    by_name = {row["name"]: row for row in run.json("models", "bpr")["rows"]}
    assert by_name["dimensions"]["range"] == ">= 1, <= 4096"
    names = [row["model"] for row in run.json("models")["rows"]]
    assert names == list(MODELS)
    assert {"bpr", "als", "ease", "cml", "sml", "cpr", "lightgcn", "siml-gcn", "dsiml"} <= {*names}


def test_doctor(run: Run, model: Path) -> None:
    report = run.json("doctor", model)
    assert report["threads"] >= 1
    assert report["numpy"]
    assert "(BLAKE3 of metadata and tensors, verified)" in report["digest"]
    assert report["signature"] == "none"
    assert report["values"].startswith("checked: every type")
    assert re.fullmatch(r"httpx \d\S+", report["extra client"])


def test_doctor_begins_with_the_model_and_breaks_no_path(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "/a/" + "long-" * 20 + "path"
    monkeypatch.setattr(doctor, "_kernel_cache", lambda: folder)
    lines = run("doctor", model).stdout.splitlines()
    assert lines[0].split()[:2] == ["model", "file"]
    assert any(line.strip() == folder for line in lines)
    wide = [line for line in lines if len(line) > 80]
    assert all(len(line.split()) == 1 or str(model) in line for line in wide)


def test_doctor_tells_the_command_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks_granian(package: str) -> str:
        if package == "granian":
            raise PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(doctor, "version", lacks_granian)
    found = doctor.extras()
    serve = "pip install 'xorec[serve]', for the service and its page: granian missing"
    assert (found["serve"], found["client"]) == (serve, "httpx 1.0")


def test_the_guide_has_the_same_extras_as_the_doctor() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "install.md"
    rows = re.findall(r"(?m)^\| (`[a-z`, ]+) \|", guide.read_text("utf-8"))
    assert re.findall(r"`([a-z]+)`", " ".join(rows)) == list(doctor.EXTRAS)


def test_doctor_compiles_kernels(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from xorec.lab import kernel_jobs

    done = [kernel_jobs.Compiled("bpr", 3, 2.5), kernel_jobs.Compiled("als", 4, 1.5)]
    monkeypatch.setattr(kernel_jobs, "compile_kernels", lambda options: iter(done))
    told = run.json("doctor", "--compile")["kernels"]
    assert re.fullmatch(r"7 functions compiled in .* s: bpr 2.5 s, als 1.5 s", told)


def test_update_takes_new_pairs_into_the_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    model, more, out = tmp_path / "m.xorec", tmp_path / "more.csv", tmp_path / "n.xorec"
    run.ok("fit", ratings, *QUICK, "--bits", 16, "-o", model)
    before = Recommender.load(model)
    known, old = before.item_ids[0], before.user_ids[0]
    more.write_text(f"user_id,item_id\n999999,{known}\n999999,888888\n{old},888888\n")
    result = run.ok("update", model, more, "-o", out, "-q")
    assert "1 new users, 1 new items, 3 new pairs" in result.stdout
    after = Recommender.load(out)
    assert known not in after.recommend(after.user_ids[len(before.user_ids)], 50).ids()
    assert run.json("update", out, more)["new"] == {"users": 0, "items": 0, "pairs": 0}
