"""Kept machine code is found by content: never stale, and shared by all copies of the sources."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import xorec
from xorec.core import kernel_cache
from xorec.core.kernels import LazyKernel, compiling

HELPERS = """
from typing import NamedTuple
import numpy as np
from xorec.core.kernels import fast_helper, inlined, intrinsic, kernel

STEP = {step}
TABLE = np.array([1.0, {entry}])

class Rows(NamedTuple):
    values: object
    {field}: object

@inlined
def pasted(x):
    return x {sign} 1.0

@fast_helper
def helped(x):
    return {factor} * pasted(x)

def _width():
    return {width}

@intrinsic
def width(context, x):
    from numba import types
    def generate(context, builder, signature, arguments):
        return context.get_constant(types.float64, _width())
    return types.float64(x), generate
"""
MAIN = """
from mine_helpers import STEP, TABLE, Rows, helped, width
from xorec.core.kernels import kernel

@kernel
def total(rows):
    value = 0.0
    for at in range(len(rows.values)):
        value += STEP * helped(rows.values[at]) + TABLE[1] + width(value)
    return value

def answer():
    import numpy as np
    return total(Rows(np.arange(3.0), None))
"""
FIRST = {"step": 1, "entry": 10, "field": "more", "sign": "+", "factor": 2, "width": 0}


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for kernels."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


def run(folder: Path, **changed: Any) -> tuple[float, int]:
    """The answer of sources in `folder`, imported as a new process would, and what compiled."""
    folder.mkdir(exist_ok=True)
    (folder / "mine_helpers.py").write_text(HELPERS.format(**(FIRST | changed)))
    (folder / "mine.py").write_text(MAIN)
    return imported(folder)


def imported(folder: Path) -> tuple[float, int]:
    """`mine.answer()` of the sources in a folder, and what compiled."""
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode, before = True, compiling.count
    try:
        importlib.invalidate_caches()
        return importlib.import_module("mine").answer(), compiling.count - before
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = False
        for name in [name for name in sys.modules if name.startswith("mine")]:
            del sys.modules[name]


CHANGES: dict[str, tuple[dict[str, Any], float]] = {
    "the first": ({}, 42.0),
    "an inlined helper": ({"sign": "-"}, 30.0),
    "a helper of its own": ({"factor": 3}, 48.0),
    "a constant": ({"step": 2}, 54.0),
    "an array": ({"entry": 20}, 72.0),
    "what writes LLVM's language": ({"width": 100}, 342.0),
    "a named tuple": ({"field": "other"}, 42.0),
}


def test_a_change_in_another_file_is_compiled(tmp_path: Path, kernels: Path) -> None:
    for name, (changed, expected) in CHANGES.items():
        answer, compiled = run(tmp_path, **changed)
        assert (answer, compiled > 0) == (expected, True), name
        assert run(tmp_path, **changed) == (expected, 0), name
    assert run(tmp_path) == (42.0, 0), "all are kept"


def test_a_helper_that_has_moved_is_found_where_it_is(tmp_path: Path, kernels: Path) -> None:
    """Kept code names the module of each kernel that it calls."""
    head = "from xorec.core.kernels import kernel\n"
    helper = "@kernel\ndef double(x):\n    return 2 * x\n"
    main = "@kernel\ndef add(x):\n    return double(x) + 1\ndef answer():\n    return add(3)\n"
    for home in ("mine_before", "mine_after"):
        folder = tmp_path / home
        folder.mkdir()
        (folder / f"{home}.py").write_text(head + helper)
        (folder / "mine.py").write_text(f"{head}from {home} import double\n{main}")
        answer, compiled = imported(folder)
        assert (answer, compiled > 0) == (7, True)
        assert imported(folder) == (7, 0)


def test_another_folder_and_another_date_compile_nothing(tmp_path: Path, kernels: Path) -> None:
    run(tmp_path / "clone")
    assert run(tmp_path / "second clone") == (42.0, 0)
    for path in (tmp_path / "clone").glob("*.py"):
        os.utime(path, (0, 0))
    assert run(tmp_path / "clone") == (42.0, 0)


def test_an_entry_that_is_not_whole_is_compiled_again(tmp_path: Path, kernels: Path) -> None:
    run(tmp_path)
    for path in kernels.glob("*.kernel"):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    answer, compiled = run(tmp_path)
    assert (answer, compiled > 0) == (42.0, True)
    assert run(tmp_path) == (42.0, 0)


def test_settings_of_numba_are_part_of_the_key(
    tmp_path: Path, kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path)
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    kernel_cache._versions.cache_clear()
    try:
        assert run(tmp_path)[1] > 0
    finally:
        kernel_cache._versions.cache_clear()


@pytest.mark.parametrize("obstacle", ["a file", "no home", "nothing"])
def test_without_a_folder_it_compiles_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "file").touch()
    if obstacle == "no home":
        monkeypatch.setattr(kernel_cache, "user_cache", Mock(side_effect=RuntimeError))
    else:
        folder = "file/kernels" if obstacle == "a file" else "kernels"
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / folder))
        monkeypatch.setattr(kernel_cache, "_write", Mock())  # a full disk
    for _ in range(2):
        answer, compiled = run(tmp_path / "sources")
        assert (answer, compiled > 0) == (42.0, True)
    assert kernel_cache.kernels_are_kept() == (obstacle == "nothing")


def test_a_disk_that_takes_nothing_does_no_harm(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels.mkdir()
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError(28, "No space left on device")))
    kernel_cache._write(kernels / "one.kernel", b"machine code")
    assert not list(kernels.iterdir())


def test_what_is_not_used_for_long_goes(tmp_path: Path, kernels: Path) -> None:
    run(tmp_path)
    days = 86_400
    (used, *others) = sorted(kernels.glob("*.kernel"))
    left, fresh = kernels / "old.tmp", kernels / "new.tmp"
    for path in (left, fresh):
        path.touch()
    for path, age in {used: 40, left: 2, **dict.fromkeys(others, 61)}.items():
        os.utime(path, (time.time() - age * days,) * 2)
    kernel_cache._write(kernels / "within-the-day.kernel", b"")
    assert all(path.exists() for path in (used, left, *others)), "it looks once a day"
    assert kernel_cache._read(used) is not None
    assert time.time() - used.stat().st_mtime < days, "reading it says that it is used"
    os.utime(kernels / "last-clean-up", (time.time() - 2 * days,) * 2)
    kernel_cache._write(kernels / "after-a-day.kernel", b"")
    assert used.exists()
    assert fresh.exists()
    assert not any(path.exists() for path in (left, *others))


def package_kernels() -> Iterator[LazyKernel]:
    for module in pkgutil.walk_packages(xorec.__path__, "xorec."):
        if not module.name.endswith("__main__"):
            values = vars(importlib.import_module(module.name)).values()
            yield from (one for one in values if isinstance(one, LazyKernel))


def test_no_kernel_of_the_package_is_keyed_by_an_address() -> None:
    """Such a key would never be found again by another process."""
    found = {one.py_func.__qualname__: one.py_func for one in package_kernels()}
    assert len(found) > 300
    for name, function in found.items():
        parts = list(kernel_cache._parts_of_function(function, set()))
        assert not [part for part in parts if " at 0x" in part], name


@pytest.mark.process
def test_processes_that_compile_at_once_share_what_they_keep(kernels: Path) -> None:
    code = (
        "import sys, numpy as np; from xorec.core import rng;"
        "from xorec.core.kernels import compiling;"
        "rng.hash_integers(np.arange(int(sys.argv[1])), 0);"
        "rng.hash_integers(np.arange(3, dtype=np.int32), 0); print(compiling.count)"
    )
    with ThreadPoolExecutor(4) as pool:
        command = [sys.executable, "-c", code]
        said = list(pool.map(lambda n: subprocess.check_output([*command, str(n)]), range(4)))
    assert max(map(int, said)) > 0
    again = subprocess.run([sys.executable, "-c", code, "9"], capture_output=True, check=True)
    assert int(again.stdout) == 0
    assert not list(kernels.glob("*.tmp"))
    assert np.all([path.stat().st_size > 0 for path in kernels.glob("*.kernel")])
