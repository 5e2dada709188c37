"""The tool that asks whether the tests see a fault, on a package of one line."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "mutate.py"

FAULTS = """
[[fault]]
name = "minus"
file = "src/sums/add.py"
old = "a + b"
new = "a - b"
tests = ["tests/test_sums.py::test_sum"]
why = "sums are wrong"

[[fault]]
name = "slow"
file = "src/sums/add.py"
old = "a + b"
new = "b + a"
tests = ["tests"]
why = "texts are the wrong way round"

[[fault]]
name = "unseen"
file = "src/sums/add.py"
old = "a + b"
new = "a + b if a else b"
tests = ["tests"]
why = "nothing"

[[fault]]
name = "not-python"
file = "src/sums/add.py"
old = "a + b"
new = "a +"
tests = ["tests"]
why = "nobody would run it"

[[fault]]
name = "moved"
file = "src/sums/add.py"
old = "a * b"
new = "a / b"
tests = ["tests"]
why = "nobody knows"
"""

ADD = "def add(a, b):\n    return a + b\n"
TEST = """
import pytest
from sums.add import add

def test_sum():
    assert add(2, 1) == 3

@pytest.mark.exhaustive
def test_slowly():
    assert add("a", "b") == "ab"
"""


@pytest.fixture(scope="module")
def tool() -> Any:
    return SimpleNamespace(**runpy.run_path(str(TOOL), run_name="mutate"))


@pytest.fixture
def house(tmp_path: Path) -> Path:
    files = {
        "src/sums/__init__.py": "",
        "src/sums/add.py": ADD,
        "tests/test_sums.py": TEST,
        "tools/faults/sums.toml": FAULTS,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_killed_survived_and_stale(house: Path) -> None:
    written = house / "outcomes.json"
    command = [sys.executable, str(TOOL), "--root", str(house), "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert written.exists(), done.stdout + done.stderr
    assert done.returncode == 1
    fates = {one["name"]: (one["fate"], one["by"]) for one in json.loads(written.read_text())}
    assert fates == {
        "minus": ("test", "tests/test_sums.py::test_sum"),
        "slow": ("all", "tests/test_sums.py::test_slowly"),
        "unseen": ("SURVIVED", "nothing"),
        "not-python": ("STALE", "with `new` it is not Python: invalid syntax (<unknown>, line 2)"),
        "moved": ("STALE", "`old` stands 0 times in src/sums/add.py"),
    }
    assert done.stdout.splitlines()[-1].split() == ["all", "5", "1", "1", "1", "2"]
    assert (house / "src/sums/add.py").read_text() == ADD


def test_what_hangs_is_killed(tool: Any, house: Path) -> None:
    (fault, *_) = tool.read_faults(house / "tools/faults")
    hangs = replace(fault, old="return a + b", new="while True:\n        pass")
    assert tool.judge(hangs, house, 3).by == "by the limit of 3 seconds: it hangs"


def test_the_faults_of_this_repository_can_be_applied(tool: Any) -> None:
    faults = tool.read_faults(ROOT / "tools" / "faults")
    assert faults
    assert {one.name: one.stale(ROOT) for one in faults if one.stale(ROOT)} == {}
    assert [name for name, n in Counter(one.name for one in faults).items() if n > 1] == []
