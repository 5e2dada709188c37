"""docs/coming-from.md and docs/expected.md: our side of the tables runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from xorec.testing.data import planted

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "coming-from.md").read_text("utf-8")
EXPECTED = (DOCS / "expected.md").read_text("utf-8")
LIBRARIES = ["implicit", "RecBole", "LensKit", "Cornac", "faiss"]
DATA = planted(60, 50, per_user=8)


def our_lines(heading: str) -> list[str]:
    """The right column of the table under a heading, without its empty cells."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\|.*\| `([^|]*)` \|$", section)


def run(lines: list[str], names: dict[str, Any]) -> dict[str, Any]:
    for line in lines:
        exec(compile(line, "our side", "exec"), names)
    return names


def test_from_implicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = our_lines("From implicit")
    assert len(lines) == 22
    names = run(lines, {"csr": sp.csr_matrix(DATA.matrix())})
    assert len(names["best"].ids()) == 10
    assert names["lists"].to_frame()["user"].unique().to_list() == [1, 2, 3]
    assert names["shop"].user_ids.find(1000) == 60


def test_from_lenskit() -> None:
    users = [f"u{row}" for row in DATA.user_rows]
    lines = our_lines("From LensKit")
    assert len(lines) == 11
    frame = pd.DataFrame({"user_id": users, "item_id": DATA.indices})
    names = run(lines, {"frame": frame})
    assert 0 < names["result"]["ndcg@10"] < 1
    assert [one.query for one in names["lists"]] == ["u1", "u2"]


def rows_of(library: str) -> list[list[str]]:
    """(what people look for, with xorec, more) of each row of a library's table."""
    section = EXPECTED.split(f"\n## {library}\n")[1].split("\n## ")[0]
    rows = re.findall(r"(?m)^\| (.*) \|$", section)
    return [row.split(" | ") for row in rows if not row.startswith("people look for")]


def test_every_row_has_a_source_and_an_answer() -> None:
    assert re.findall(r"(?m)^## (.*)$", EXPECTED) == LIBRARIES
    for library in LIBRARIES:
        rows = rows_of(library)
        assert 8 <= len(rows) <= 14
        for asked, answer, _ in rows:
            assert re.search(r"\(\[[^]]+\]\(https://", asked), asked
            assert answer == "not there" or re.fullmatch(r"`[^`]+`", answer), answer


def test_what_is_expected_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = zip(DATA.user_rows.tolist(), DATA.indices.tolist(), strict=True)
    rated = [f"{4711 + u},{i},{3 + (u + i) % 3},{100 * u + i}" for u, i in pairs]
    Path("ratings.csv").write_text("user,item,rating,time\n" + "\n".join(rated) + "\n")
    blocks = r"(?ms)^```python\n(.*?)^```|^\| [^\n]* \| (`[^`\n]*`|not there) \| ([^\n]*)\|$"
    names: dict[str, Any] = {"numpy": np}
    for block, answer, more in re.findall(blocks, EXPECTED):
        calls = re.findall(r"`((?:shop|model|xorec|numpy)\.[^`]*\))`", more)
        lines = [line for line in (block or answer.strip("`"), *calls) if line != "not there"]
        run([line for line in lines if not line.startswith("xorec ")], names)
    assert names["shop"].user_ids.find(9001) >= 0
    assert len(names["rounds"]) == 5


def test_the_commands_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from xorec.cli.main import app

    monkeypatch.setenv("COLUMNS", "200")
    lines = [row[1].strip("`") for library in LIBRARIES for row in rows_of(library)]
    commands = [line.split()[1:] for line in lines if line.startswith("xorec ")]
    assert len(commands) == 11
    for words in commands:
        place = 2 if words[0] in ("bench", "data") else 1
        told = CliRunner().invoke(app, [*words[:place], "--help"])
        assert told.exit_code == 0, words
        for option in (word for word in words if word.startswith("-")):
            assert option in told.output, f"{option}: {words}"
