"""A sample of `benchmarks/fuzz_inputs.py`: inputs of every kind, altered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xorec
from tests.support.altered_bytes import altered_bytes
from tests.support.altered_inputs import item_files, originals, require_sound

pytestmark = pytest.mark.exhaustive

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz_inputs.py"


def test_a_sample_is_read_or_refused() -> None:
    """In a process of its own: this one may have threads of polars, and then cannot fork."""
    command = [sys.executable, str(FUZZ), "--cases", "96", "--seed", "7", "--seconds", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "'read'" in done.stdout
    assert "'refused'" in done.stdout


@pytest.mark.parametrize("name", sorted(originals()))
def test_the_files_can_be_read_before_they_are_altered(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(originals()[name])
    require_sound(xorec.read(tmp_path / name))


@pytest.mark.parametrize("name", sorted(item_files()))
def test_so_can_the_files_of_items(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(item_files()[name])
    data = xorec.read([("u", f"i{n}") for n in range(11)], item_info=tmp_path / name)
    require_sound(data)
    assert data.names is not None
    assert data.categories is not None


def test_a_case_is_always_the_same() -> None:
    content = b"user,item\na,b\n" * 9
    made, again = (
        [altered_bytes(content, np.random.default_rng([3, n]), [b"x", b"y"]) for n in range(50)]
        for _ in range(2)
    )
    assert made == again
    assert len({content for _, content in made}) > 35


def test_what_is_not_sound_is_noticed() -> None:
    data = xorec.read([("a", 1), ("a", 2), ("b", 1)])
    require_sound(data)
    data.indices[0] = 5
    with pytest.raises(AssertionError):
        require_sound(data)
