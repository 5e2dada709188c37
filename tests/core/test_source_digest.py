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


def test_it_changes_with_every_line_and_name(package: Path) -> None:
    found = [digest(package)]
    assert digest(package) == found[0]
    for path in ("core/rng.py", "models/siml/siml.py"):
        (package / path).write_text("value = 2\n")
        found.append(digest(package))
    (package / "core" / "rng.py").rename(package / "core" / "random.py")
    found.append(digest(package))
    (package / "models" / "bpr.py").write_text("")
    found.append(digest(package))
    assert len(set(found)) == 5
    (package / "cli" / "main.py").write_text("value = 2\n")  # learns nothing
    (package / "core" / "rng.nbi").write_bytes(b"kernel")
    assert digest(package) == found[-1]


def test_what_a_room_imports_is_in_the_digest_too() -> None:
    folder, imported = Path(xorec.__file__).parent, set()
    for path in (file for room in ROOMS for file in (folder / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xorec."):
                imported.add(str(node.module).split(".")[1])
    assert imported == set(ROOMS)
