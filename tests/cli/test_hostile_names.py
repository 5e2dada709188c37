"""Names that a terminal would obey: shown as escapes, raw where a pipe asks for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app

from .conftest import Run, refused

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
