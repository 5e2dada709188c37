"""Bad input: one line that says what and what to do, exit code 2, no traceback, nothing written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from .conftest import Run, refused


def test_missing_file(run: Run, tmp_path: Path) -> None:
    refused(run("fit", tmp_path / "no.csv", "-o", tmp_path / "m", "-q"), "no.csv")
    assert list(tmp_path.iterdir()) == []


def test_missing_column(run: Run, ratings: Path, tmp_path: Path) -> None:
    result = run("fit", ratings, "--user-column", "usr", "-o", tmp_path / "m", "-q")
    refused(result, "usr", "user_id", "ratings.csv")


def test_empty_data(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("user,item\n")
    refused(run("fit", tmp_path / "e.csv", "-o", tmp_path / "m", "-q"))
    assert not (tmp_path / "m").exists()


def test_all_users_filtered_away(run: Run, ratings: Path, tmp_path: Path) -> None:
    refused(run("fit", ratings, "--core", 500, "-o", tmp_path / "m", "-q"), "500")
    refused(run("fit", ratings, "--min-rating", 9, "-o", tmp_path / "m", "-q"), "9")


def test_empty_ids(run: Run, tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("user,item\n1,2\n,3\n")
    refused(run("fit", tmp_path / "n.csv", "-o", tmp_path / "m", "-q"), "n.csv", "user")


def test_k_of_zero(run: Run, model: Path, ratings: Path) -> None:
    refused(run("recommend", model, "--user", "u7", "-k", 0), "k is 0")
    refused(run("compare", ratings, "--ks", "0", "-q"), "--ks")


def test_bits_that_mean_nothing(run: Run, ratings: Path, tmp_path: Path) -> None:
    refused(run("compare", ratings, "--models", "dsiml", "--bits", "x", "-q"), "--bits is 'x'")
    refused(run("compare", ratings, "--models", "dsiml", "--bits", "4", "-q"), "bits is 4")
    refused(run("compare", ratings, "--models", "bpr", "--bits", "32", "-q"), "bpr", "dsiml")
    words = ("--model", "bpr", "--bits", 64, "-o", tmp_path / "m", "-q")
    refused(run("fit", ratings, *words), "bpr has no setting 'bits'")


def test_unknown_user_is_told_about_items(run: Run, model: Path) -> None:
    refused(run("recommend", model, "--user", "nobody"), "'nobody'", "--items")
    refused(run("recommend", model), "--user", "--items")
    refused(run("recommend", model, "u7"), "for the user u7, give --user u7")
    refused(run("recommend", model, "--items", "1003,nothing"), "'nothing'")
    refused(run("explain", model, "--user", "nobody", "--item", 1003), "'nobody'", "--items")
    refused(run("explain", model, "--user", "u7", "--item", 5), "item 5")
    refused(run("explain", model, "--item", 1003), "--user", "--items")


def test_unknown_model_and_setting(run: Run, ratings: Path, tmp_path: Path) -> None:
    refused(run("fit", ratings, "--model", "bqr", "-o", tmp_path / "m"), "'bqr'", "bpr")
    refused(
        run("fit", ratings, "--model", "bpr", "--epoch", 3, "-o", tmp_path / "m"),
        "'epoch'",
        "epochs",
    )
    refused(
        run("fit", ratings, "--model", "bpr", "--epochs", 0, "-o", tmp_path / "m"), "epochs is 0"
    )
    refused(
        run("fit", ratings, "--model", "bpr", "--epochs", "-o", tmp_path / "m"),
        "--epochs needs a value",
    )


@pytest.mark.parametrize("kind", ["missing", "truncated", "corrupt", "foreign", "newer"])
def test_model_files_that_cannot_be_used(run: Run, model: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bad.xorec"
    whole = model.read_bytes()
    if kind == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "corrupt":
        path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 255]) + whole[-8:])
    elif kind == "foreign":
        save_file({"a": np.zeros(3)}, path)
    elif kind == "newer":
        facts = '{"format": 99, "digest": "", "model": "m", "representation": "r"}'
        save_file({"a": np.zeros(3)}, path, metadata={"xorec": facts})
    expected = {"missing": "no model file", "newer": "format 99", "foreign": "not a xorec model"}
    word = expected.get(kind, "bad.xorec")
    refused(run("recommend", path, "--user", "u7"), word)
    refused(run("similar", path, "--item", "1003"), word)
    refused(run("doctor", path), word)


def test_a_disk_without_space(run: Run, ratings: Path, tmp_path: Path) -> None:
    """A file-size limit stands for a full disk; the older model stays."""
    import resource

    out = tmp_path / "m.xorec"
    out.write_text("older")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        result = run("fit", ratings, "--model", "item-knn", "-o", out, "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    refused(result, "cannot write", "m.xorec")
    assert [file.name for file in tmp_path.iterdir()] == ["m.xorec"]
    assert out.read_text() == "older"


def test_bad_settings_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("[bpr\n")
    words = ("--model", "bpr", "--config", tmp_path / "s.toml", "-o", tmp_path / "m", "-q")
    refused(run("fit", ratings, *words), "s.toml")


def test_unknown_split(run: Run, ratings: Path) -> None:
    refused(run("compare", ratings, "--split", "half", "-q"), "'half'", "leave-last")


def test_too_little_memory_is_one_line(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("xorec.data.io.read.require_address_space", refuse)
    result = run("fit", ratings, "-o", tmp_path / "m", "-q")
    refused(result, "out of memory")


def test_an_error_of_ours_stays_a_traceback(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down() -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("xorec.data.io.read.require_address_space", break_down)
    assert isinstance(run("fit", ratings, "-o", tmp_path / "m", "-q").exception, RuntimeError)


@pytest.mark.parametrize(("wrong", "right"), [("SIML", "siml"), ("dsmil", "dsiml")])
def test_mistaken_names_of_models(
    run: Run, ratings: Path, tmp_path: Path, wrong: str, right: str
) -> None:
    meant = f"Did you mean '{right}'?"
    refused(run("fit", ratings, "--model", wrong, "-o", tmp_path / "m"), f"'{wrong}'", meant)
    refused(run("compare", ratings, "--models", f"bpr,{wrong}", "-q"), f"'{wrong}'", meant)
    refused(run("tune", ratings, "--model", wrong, "-q"), f"'{wrong}'", meant)
    refused(run("models", wrong), f"'{wrong}'", meant)


def test_mistaken_names_of_settings_and_options(
    run: Run, ratings: Path, model: Path, tmp_path: Path
) -> None:
    words = ("-o", tmp_path / "m", "-q")
    refused(run("fit", ratings, "--model", "bpr", "--dims", 8, *words), "'--dimensions'?")
    refused(run("fit", ratings, "--model", "bpr", "--lr", 0.1, *words), "'--learning-rate'?")
    refused(run("fit", ratings, "--min-ratng", 4, *words), "'--min-rating'?")
    refused(run("compare", ratings, "--model", "bpr"), "'--models'?")
    refused(run("recommend", model, "--usr", "u7"), "no option --usr", "'--user'?")
    refused(run("--versoin"), "no option --versoin", "'--version'?")
    refused(run("compare", ratings, "--split", "randm"), "'random'?")
    refused(run("compare", ratings, "--metrics", "recal@20"), "'recall'?")


def test_what_typer_refuses_is_one_line_too(run: Run, ratings: Path, model: Path) -> None:
    for words in (
        ("fitt", ratings),
        ("fit",),
        ("compare", ratings, "--seed", "x"),
        ("recommend", model, "-k"),
        ("data", "inf"),
    ):
        result = run(*words)
        refused(result, "--help")
        assert len(result.stderr.splitlines()) == 1
    assert "Usage" in run("data").output


def test_a_user_and_items_are_not_given_at_once(run: Run, model: Path) -> None:
    both = ("--user", "u7", "--items", "1003")
    refused(run("recommend", model, *both), "give --user or --items, not both")
    refused(run("explain", model, *both, "--item", 1008), "give --user or --items, not both")
    refused(run("similar", model, "--user", "u7", "--item", 1003), "not both")


def test_a_folder_that_is_made_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "new" / "lists.csv"
    made = run("recommend", model, "--all-users", "-o", lists)
    assert f"created the folder {lists.parent}\n" in made.stderr
    assert "created" not in run("recommend", model, "--all-users", "-o", lists).stderr
