"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the package.

A code block whose first line names a path (`# src/...`, `# tests/...`) is a new file; one that
begins with `# in PATH:` is added to that file, behind the last line that begins like its own.
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

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n# (in )?((?:src|tests)/[\w/.]+?\.py)(:?)\n(.*?)^```$", re.M | re.S)


@dataclass
class Recipe:
    title: str
    files: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)


def recipes() -> list[Recipe]:
    """A recipe for each heading of the chapter that has code blocks."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = []
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        recipe = Recipe(section.partition("\n")[0])
        for added, path, _, code in BLOCK.findall(section):
            if added:
                recipe.lines.append((path, code))
            else:
                recipe.files[path] = code
        if recipe.files:
            found.append(recipe)
    return found


def add_line(path: Path, line: str) -> None:
    """Put `line` behind the last one of the file that begins with the same word, as deep."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    begin = re.match(r"\s*\W?\w+", line)
    assert begin is not None
    at = max(place for place, one in enumerate(lines) if one.startswith(begin[0]))
    path.write_text("".join([*lines[: at + 1], line, *lines[at + 1 :]]), encoding="utf-8")


def test_the_chapter_has_all_recipes() -> None:
    assert [recipe.title for recipe in recipes()] == [
        "A model",
        "A metric",
        "A file format",
        "A search strategy",
        "An experiment",
    ]


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_following_the_recipe(recipe: Recipe, tmp_path: Path) -> None:
    package = Path(xorec.__file__).parent
    shutil.copytree(package, tmp_path / "src" / "xorec")  # with compiled kernels and their times
    for path, code in recipe.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        assert not (tmp_path / path).exists(), "a recipe makes new files"
        (tmp_path / path).write_text(code, encoding="utf-8")
    for path, line in recipe.lines:
        add_line(tmp_path / path, line)
    tests = [path for path in recipe.files if path.startswith("tests/")]
    assert tests, "a recipe ends with a test"
    assert len(recipe.lines) <= 1, "one file, its test, one line"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
