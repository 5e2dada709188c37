"""docs/scale.md: its plans are what `xorec plan` prints, and its commands are known."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xorec.cli.main import app
from xorec.selection.plan.constants import Constants

PAGE = (Path(__file__).parents[3] / "docs" / "scale.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```text\n\$ xorec (plan .*)\n((?:.|\n)*?)^```$", PAGE, re.M)
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    for line in block.splitlines()
    if line.startswith("xorec ")
]


@pytest.fixture(autouse=True)
def no_constants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(("words", "printed"), SHOWN, ids=[words for words, _ in SHOWN])
def test_a_plan_is_printed_as_it_stands(words: str, printed: str) -> None:
    result = CliRunner().invoke(app, shlex.split(words))
    assert result.exit_code == 0, result.output
    found = [line.rstrip() for line in result.stdout.splitlines()]
    assert found == [line.rstrip() for line in printed.splitlines()]
    assert max(map(len, found)) <= 80


def test_there_are_plans_to_test() -> None:
    assert len(SHOWN) >= 2
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_every_command_are_known(command: str) -> None:
    _, name, *words = shlex.split(command)
    told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).stdout
    known = {*re.findall(r"--[a-z-]+", told), "-o", "-k"}
    if name in ("plan", "fit"):
        known |= {"--epochs", "--optimizer", "--start.model"}
    assert {word for word in words if word.startswith("-")} <= known, command


def test_the_constants_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d.,]+) ", PAGE, re.M))
    expected = Constants().row()
    assert rows.keys() == expected.keys()
    for name, value in rows.items():
        assert float(value.replace(",", "")) == pytest.approx(expected[name]), name
