"""Doctests of the package run on the package itself.

pytest's importlib mode would make a second copy of a module that its package imports (and so a
second `XorecError`): import it in the ordinary way before pytest does.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).parent / "src"


def pytest_collect_file(file_path: Path) -> None:
    if SOURCE in file_path.parents and file_path.suffix == ".py" and file_path.stem != "__main__":
        parts = file_path.relative_to(SOURCE).with_suffix("").parts
        import_module(".".join(parts).removesuffix(".__init__"))
