"""The digest of the code: it changes with every line that could change a result, and only then."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import xorec
from xorec.core.source_digest import ROOMS, source_digest


def digest(package: Path) -> str:
    """Of what stands there now: `source_digest` reads a package once in a process."""
    source_digest.cache_clear()
    return source_digest(("core", "models"), package)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for path in ("core/rng.py", "models/siml/siml.py", "cli/main.py"):
        file = tmp_path / path
        file.parent.mkdir(parents=True)
        file.write_text("value = 1\n")
    return tmp_path


def test_the_same_code_has_the_same_digest(package: Path) -> None:
    assert digest(package) == digest(package)


@pytest.mark.parametrize("path", ["core/rng.py", "models/siml/siml.py"])
def test_a_changed_line_changes_it(package: Path, path: str) -> None:
    before = digest(package)
    (package / path).write_text("value = 2\n")
    assert digest(package) != before


def test_a_new_and_a_renamed_file_change_it(package: Path) -> None:
    before = digest(package)
    (package / "core" / "rng.py").rename(package / "core" / "random.py")
    renamed = digest(package)
    (package / "models" / "bpr.py").write_text("")
    assert len({before, renamed, digest(package)}) == 3


def test_what_learns_nothing_does_not_change_it(package: Path) -> None:
    before = digest(package)
    (package / "cli" / "main.py").write_text("value = 2\n")
    (package / "core" / "rng.nbi").write_bytes(b"kernel")
    assert digest(package) == before


def test_the_rooms_are_there() -> None:
    folder = Path(xorec.__file__).parent
    assert all(any((folder / room).rglob("*.py")) for room in ROOMS)


def test_what_a_room_imports_is_in_the_digest_too() -> None:
    folder, imported = Path(xorec.__file__).parent, set()
    for path in (file for room in ROOMS for file in (folder / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xorec."):
                imported.add(str(node.module).split(".")[1])
    assert imported == set(ROOMS)
