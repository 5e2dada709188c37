"""Examples in docstrings run: those of the public names always, all others with `docs`."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import xorec

ROOT = Path(xorec.__file__).parent


def modules_with_examples() -> set[str]:
    paths = (path for path in ROOT.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8"))
    parts = (path.relative_to(ROOT.parent).with_suffix("").parts for path in paths)
    return {".".join(part).removesuffix(".__init__") for part in parts}


EXAMPLES = modules_with_examples()
PUBLIC = {home for home in xorec._homes().values() if home in EXAMPLES}


def run_examples(name: str) -> int:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0
    return outcome.attempted


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_examples_of_public_names(name: str) -> None:
    assert run_examples(name) > 0


@pytest.mark.docs
@pytest.mark.parametrize("name", sorted(EXAMPLES - PUBLIC))
def test_examples(name: str) -> None:
    assert run_examples(name) > 0
