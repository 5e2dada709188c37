"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the package.

A code block whose first line names a path is a new file, or, where it is a diff, a change of that
file: hunks are divided by blank lines, and what is taken out or stands around must be there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import xorec

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
ENTRIES = {
    "A model": "src/xorec/models/__init__.py",
    "A metric": "src/xorec/evaluation/metrics/__init__.py",
    "A file format": "src/xorec/data/io/registry.py",
    "A search strategy": "src/xorec/search/hamming/strategies.py",
    "A store": "src/xorec/stores/registry.py",
    "An experiment": "src/xorec/lab/reproduce/plan.py",
}
"""The registry that a recipe makes its entry in."""
ALSO = {
    "A model": ["tests/test_public_face.py"],
    "A metric": [
        "tests/evaluation/test_metrics.py",
        "tests/evaluation/test_expected.py",
        "tests/evaluation/test_protocol.py",
    ],
    "A file format": ["tests/data/io/test_formats.py"],
}
"""Tests of what every entry must do."""
BLOCK = re.compile(
    r"^```(python|diff)\n# ((?:src|tests|docs)/[\w/.]+\.(?:py|md))\n(.*?)^```$", re.M | re.S
)


@dataclass
class Recipe:
    """title: its heading. files, changes: text by path."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    changes: dict[str, str] = field(default_factory=dict)


def recipes() -> list[Recipe]:
    """One for each heading that has code blocks."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = []
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        recipe = Recipe(section.partition("\n")[0])
        for language, path, code in BLOCK.findall(section):
            (recipe.changes if language == "diff" else recipe.files)[path] = code
        found.append(recipe)
    return found


def apply(change: str, path: Path) -> None:
    """Make the change of a diff."""
    text = path.read_text(encoding="utf-8")
    for hunk in change.strip("\n").split("\n\n"):
        lines = hunk.split("\n")
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"{path.name} has not once:\n{before}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


def test_all_recipes_are_there() -> None:
    assert [recipe.title for recipe in recipes()] == list(ENTRIES)


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_a_recipe_is_a_file_its_test_and_its_entry(recipe: Recipe) -> None:
    assert sorted(path.split("/")[0] for path in recipe.files) == ["src", "tests"]
    assert [path for path in recipe.changes if path.startswith("src/")] == [ENTRIES[recipe.title]]


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_following_a_recipe(recipe: Recipe, tmp_path: Path) -> None:
    package = Path(xorec.__file__).parent
    shutil.copytree(package, tmp_path / "src" / "xorec")  # with compiled kernels and their times
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for path in ALSO.get(recipe.title, []):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for path, code in recipe.files.items():
        assert not (tmp_path / path).exists(), "a recipe makes new files"
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code, encoding="utf-8")
    for path, change in recipe.changes.items():
        apply(change, tmp_path / path)
    tests = [path for path in recipe.files if path.startswith("tests/")]
    tests += ALSO.get(recipe.title, [])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout), done.stdout
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    lint = [sys.executable, "-m", "ruff", "check", "--no-cache", *recipe.files]
    checked = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
