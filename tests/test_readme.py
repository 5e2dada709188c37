"""The README's Python lines and command lines work as printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.testing.data import planted

README = (Path(__file__).parent.parent / "README.md").read_text()


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the README speaks of."""
    monkeypatch.chdir(tmp_path)
    data = planted(60, 110, per_user=12)
    pairs = zip(data.user_rows, data.indices, strict=True)
    rows = [f"{4711 + user},{item}" for user, item in pairs]
    Path("ratings.csv").write_text("user,item\n" + "\n".join(rows) + "\n")
    own = set(data.of_user(0).tolist())
    new = next(item for item in range(110) if item not in own and item in data.indices)
    Path("new-ratings.csv").write_text(f"user,item\n4711,{new}\n")


def test_the_python_lines() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert Path("shop.xorec").exists()


def test_the_command_lines() -> None:
    from xorec.cli.main import app

    lines = re.findall(r"(?m)^xorec .*$", README)
    assert len(lines) == 14
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "bench":  # as written it takes minutes
            words += ["--items", "2000", "--repeats", "1", "--quiet"]
        if words[0] == "tune":
            words += ["--trials", "2", "--epochs", "2"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_every_linked_file_exists() -> None:
    root = Path(__file__).parent.parent
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) >= 6
    for link in links:
        assert (root / link).exists(), link
