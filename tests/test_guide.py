"""docs/guide/: every code block runs as printed, page after page, in one folder."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

pytestmark = pytest.mark.docs

GUIDE = Path(__file__).parent.parent / "docs" / "guide"
ORDER = re.findall(r"guide/([\w-]+)\.md", (GUIDE.parent.parent / "mkdocs.yml").read_text("utf-8"))
DATA = planted(60, 50, per_user=10)
LEFT_OUT = ("xorec serve ", "pip ")
"""tests/service/ has `serve`; tests/test_code_blocks.py looks at both."""
QUICKER = {"fit debian": ["--trials", "2"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages speak of: ratings.csv, something new, and a small stand-in for debian."""
    made = tmp_path_factory.mktemp("guide")
    pairs = list(zip(DATA.user_rows.tolist(), DATA.indices.tolist(), strict=True))
    rated = [f"{4711 + user},{item},{3 + (user + item) % 3}" for user, item in pairs]
    (made / "ratings.csv").write_text("user,item,rating\n" + "\n".join(rated) + "\n")
    (made / "new-ratings.csv").write_text("user,item\n4711,3\n9001,4\n")
    names = {0: "bash"}, {0: "flex", 1: "bison"}
    named = [
        f"{names[0].get(user, f'p{user}')},{names[1].get(item, f'lib{item}')}"
        for user, item in pairs
        if (user, item) != (0, 0)  # bash has no flex: it is explained
    ]
    (made / "debian.csv").write_text("user,item\n" + "\n".join(named) + "\n")
    return made


def blocks(page: str) -> list[tuple[str, str]]:
    text = (GUIDE / f"{page}.md").read_text("utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.M | re.S)


def commands(code: str) -> Iterator[list[str]]:
    for line in code.splitlines():
        if line.startswith(LEFT_OUT):
            continue
        assert line.startswith("xorec "), line
        begins = next((more for begin, more in QUICKER.items() if line[6:].startswith(begin)), [])
        words = shlex.split(line, comments=True)[1:]
        yield ["debian.csv" if word == "debian" else word for word in words] + begins


def test_every_page_is_in_the_guide() -> None:
    assert sorted(ORDER) == sorted(path.stem for path in GUIDE.glob("*.md"))
    kinds = {kind for page in ORDER for kind, _ in blocks(page)}
    assert kinds <= {"sh", "python", "toml"}


@pytest.mark.parametrize("page", ORDER)
def test_the_page_runs(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from xorec.cli.main import app

    monkeypatch.chdir(folder)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    names: dict[str, Any] = {}
    for kind, code in blocks(page):
        if kind == "python":
            code = code.replace('"debian"', '"debian.csv"')
            exec(compile(code, f"{page}.md", "exec"), names)
        for words in commands(code) if kind == "sh" else ():
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, f"{words}\n{result.output}"
    check = CHECKS.get(page)
    if check is not None:
        check(names)


def check_first_model(names: dict[str, Any]) -> None:
    assert len(names["best"].ids()) == 5
    assert Recommender.load("shop.xorec").recommend("bash", 5).ids() == names["best"].ids()


def check_my_data(names: dict[str, Any]) -> None:
    assert repr(names["data"]).startswith("Interactions(3 users x 2 items, 4 pairs")
    kept = int((DATA.user_rows + DATA.indices).__mod__(3).__ge__(1).sum())
    assert Recommender.load("shop.xorec").metadata["data"]["pairs"] == kept


def check_fresh(names: dict[str, Any]) -> None:
    assert not {*names["newer"].recommend(9000, 50).ids()} & {*names["shop"].item_ids[:2]}
    assert Recommender.load("next.xorec").user_ids.find(9001) >= 0


CHECKS = {"first-model": check_first_model, "my-data": check_my_data, "fresh": check_fresh}
