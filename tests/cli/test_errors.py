"""Bad input: one line that says what and what to do, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app

from .conftest import Run, refused

FILES = {"e.csv": "user,item\n", "n.csv": "user,item\n1,2\n,3\n", "s.toml": "[bpr\n"}


@pytest.mark.parametrize(
    ("data", "words", "says"),
    [
        ("no.csv", "", "no.csv"),
        ("", "--user-column usr", "usr user_id ratings.csv"),
        ("e.csv", "", "e.csv"),
        ("", "--core 500", "500"),
        ("", "--min-rating 9", "9"),
        ("n.csv", "", "n.csv user"),
        ("", "--model bpr --bits 64", "bpr setting 'bits'"),
        ("", "--model bqr", "'bqr' bpr"),
        ("", "--model bpr --epoch 3", "'epoch' epochs"),
        ("", "--model bpr --epochs 0", "epochs is 0"),
        ("", "--model bpr --epochs", "--epochs needs a value"),
        ("", "--model bpr --config s.toml", "s.toml"),
    ],
)
def test_what_fit_refuses(
    run: Run,
    ratings: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: str,
    words: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    refused(run("fit", data or ratings, "-o", "m", "-q", *words.split()), *says.split())
    assert {path.name for path in tmp_path.iterdir()} == {*FILES}


def test_what_other_commands_refuse(run: Run, model: Path, ratings: Path) -> None:
    words: tuple[object, ...]
    for words, says in (
        (("--ks", "0"), ["--ks"]),
        (("--split", "half"), ["'half'", "leave-last"]),
        (("--models", "dsiml", "--bits", "x"), ["--bits is 'x'"]),
        (("--models", "dsiml", "--bits", "4"), ["bits is 4"]),
        (("--models", "bpr", "--bits", "32"), ["bpr", "dsiml"]),
    ):
        refused(run("compare", ratings, *words, "-q"), *says)
    for words, says in (
        (("--user", "u7", "-k", 0), ["k is 0"]),
        (("--user", "nobody"), ["'nobody'", "--items"]),
        ((), ["--user", "--items"]),
        (("u7",), ["for the user u7, give --user u7"]),
        (("--items", "1003,nothing"), ["'nothing'"]),
    ):
        refused(run("recommend", model, *words), *says)
    refused(run("explain", model, "--user", "nobody", "--item", 1003), "'nobody'", "--items")
    refused(run("explain", model, "--user", "u7", "--item", 5), "item 5")
    refused(run("explain", model, "--item", 1003), "--user", "--items")


def test_model_files_that_cannot_be_used(run: Run, model: Path, tmp_path: Path) -> None:
    path, whole = tmp_path / "bad.xorec", model.read_bytes()
    for content, says in ((None, "no model file"), (whole[: len(whole) // 2], "bad.xorec")):
        if content is not None:
            path.write_bytes(content)
        refused(run("recommend", path, "--user", "u7"), says)
        refused(run("similar", path, "--item", "1003"), says)
        refused(run("doctor", path), says)


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


def test_too_little_memory_is_one_line_and_an_error_of_ours_a_traceback(
    run: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down() -> None:
        raise RuntimeError(reasons.pop())

    reasons = ["a defect", "can't start new thread"]
    monkeypatch.setattr("xorec.data.io.read.require_address_space", break_down)
    refused(run("fit", ratings, "-o", tmp_path / "m", "-q"), "out of memory")
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


EVIL = "e\x1b]0;owned\x07\x9b31m\u202e"
SHOWN = "e\\x1b]0;owned\\x07\\x9b31m\\u202e"


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    rows = "".join(
        f"u{u},{EVIL if i == 0 else f'i{i}'}\n" for u in range(6) for i in range(u % 3, 6)
    )
    (folder / "d.csv").write_text("user,item\n" + rows)
    names = "".join(f"i{i},[red]{EVIL}{i}\n" for i in range(1, 6))
    (folder / "n.csv").write_text("item,name\n" + names)
    words = ["fit", str(folder / "d.csv"), "--item-info", str(folder / "n.csv"), "-q"]
    done = CliRunner().invoke(app, [*words, "--model", "item-knn", "-o", str(folder / "m")])
    assert done.exit_code == 0, done.output
    return folder


def safe(text: str) -> bool:
    return not set(text) & set("\x1b\x07\x9b\u202e")


def test_tables_show_escapes_and_raw_rows_do_not(run: Run, evil: Path) -> None:
    table = run.ok("recommend", evil / "m", "--user", "u2")
    assert safe(table.stdout)
    assert SHOWN in table.stdout.replace("\n", "").replace(" ", "")
    for words in (("similar", "--item", EVIL), ("explain", "--user", "u2", "--item", EVIL)):
        shown = run.ok(words[0], evil / "m", *words[1:])
        assert safe(shown.stdout)
    raw = run("recommend", evil / "m", "--user", "u2", "--raw")
    rows = [line.split("\t") for line in raw.stdout_bytes.decode().split("\n")[:-1]]
    assert all(len(row) == 4 for row in rows)
    assert EVIL in {row[1] for row in rows}
    assert rows[0][0] == "1"
    because = run("explain", evil / "m", "--user", "u0", "--item", "i5", "--raw")
    assert EVIL.encode() in because.stdout_bytes


def test_json_stays_json(run: Run, evil: Path) -> None:
    text = run("recommend", evil / "m", "--user", "u2", "--json").stdout
    assert safe(text)
    assert EVIL in {one["id"] for one in json.loads(text)["items"]}


def test_facts_titles_and_notes_are_safe_and_no_markup(
    run: Run, evil: Path, tmp_path: Path
) -> None:
    path = tmp_path / "[bold]x[" / "y].csv"
    path.parent.mkdir()
    path.write_text(f"user {EVIL},item {EVIL}\na,b\nc,d\n")
    named = ("--user-column", f"user {EVIL}", "--item-column", f"item {EVIL}")
    shown = run.ok("data", "info", path, *named)
    assert safe(shown.output)
    assert "[/y].csv" in shown.output.replace("\n", "")


def test_errors_are_one_safe_line(run: Run, evil: Path, tmp_path: Path) -> None:
    result = run("recommend", evil / "m", "--user", EVIL * 10_000)
    refused(result, "characters")
    assert safe(result.stderr)
    assert len(result.stderr) < 2200
    (tmp_path / "c.csv").write_text(f"a{EVIL},b,c\n1,2,3\n")
    result = run("fit", tmp_path / "c.csv", "-o", tmp_path / "m", "-q", "--user-column", "b")
    refused(result, f"a{SHOWN}")
    assert safe(result.stderr)


def test_settings_in_a_pipe_or_too_deep(run: Run, ratings: Path, tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe.toml")
    words = ("fit", ratings, "--model", "bpr", "-o", tmp_path / "m", "-q", "--config")
    refused(run(*words, tmp_path / "pipe.toml"), "is a pipe")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    refused(run(*words, tmp_path / "deep.json"), "deep.json")
    refused(run("recommend", tmp_path / "pipe.toml", "--user", "u1"), "is a pipe")
    refused(run("recommend", ratings / "x", "--user", "u1"), "not a folder")


def test_limits_are_options(run: Run, ratings: Path) -> None:
    refused(run("data", "info", ratings, "--max-line", "3"), "line of more than 3 bytes")
    refused(run("data", "info", ratings, "--max-expanded", "much"), "max_expanded is 'much'")
