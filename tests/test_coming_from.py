"""docs/coming-from.md: our side of the translations runs as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import scipy.sparse as sp

from xorec.testing.data import planted

PAGE = (Path(__file__).parent.parent / "docs" / "coming-from.md").read_text()
DATA = planted(60, 50, per_user=8)


def our_lines(heading: str) -> list[str]:
    """The right column of the table under a heading, without its empty cells."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\|.*\| `([^|]*)` \|$", section)


def run(lines: list[str], **names: Any) -> dict[str, Any]:
    for line in lines:
        exec(compile(line, "coming-from.md", "exec"), names)
    return names


def test_from_implicit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = our_lines("From implicit")
    assert len(lines) == 21
    names = run(lines, csr=sp.csr_matrix(DATA.matrix()))
    assert len(names["best"].ids()) == 10
    assert names["lists"].to_frame()["user"].unique().to_list() == [1, 2, 3]
    assert names["shop"].users.find(1000) == 60


def test_from_lenskit() -> None:
    users = [f"u{row}" for row in DATA.user_rows]
    lines = our_lines("From LensKit")
    assert len(lines) == 11
    names = run(lines, frame=pd.DataFrame({"user_id": users, "item_id": DATA.indices}))
    assert 0 < names["result"]["ndcg@10"] < 1
    assert [one.query for one in names["lists"]] == ["u1", "u2"]
