"""How kernels call each other: a rule that every file keeps (`core.kernels` says why)."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import xorec
from xorec.core import kernel_cache, kernels
from xorec.core.kernels import CompileClock, compiling, fast_helper, fast_kernel, inlined

ROOT = Path(xorec.__file__).parent
KINDS = {
    name
    for name, value in vars(kernels).items()
    if isinstance(value, FunctionType)
    and value.__module__ == kernels.__name__
    and not name.startswith(("_", "is_", "numpy_"))
}
Kinds = dict[str, str]


def kinds_of(tree: ast.Module) -> Kinds:
    """The compiled functions of a module, each with its decorator."""
    return {
        node.name: mark.id
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Name) and mark.id in KINDS
    }


def wrong_calls(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Compiled functions that call a fast kernel, of their own module or imported."""
    modules = {name: kinds_of(tree) for name, tree in trees.items()}
    for name, tree in trees.items():
        known = dict(modules[name])
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                there = modules.get(node.module or "", {})
                known |= {n.asname or n.name: there[n.name] for n in node.names if n.name in there}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in modules[name]:
                calls = (call.func for call in ast.walk(node) if isinstance(call, ast.Call))
                for called in (call.id for call in calls if isinstance(call, ast.Name)):
                    if known.get(called) == "fast_kernel":
                        yield f"{name}.{node.name} calls the fast kernel {called}"


def library() -> dict[str, ast.Module]:
    return {
        ".".join(("xorec", *path.relative_to(ROOT).with_suffix("").parts)): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(ROOT.rglob("*.py"))
    }


def test_no_kernel_calls_a_fast_kernel() -> None:
    trees = library()
    assert {kind for tree in trees.values() for kind in kinds_of(tree).values()} == KINDS
    assert not list(wrong_calls(trees))


@pytest.mark.parametrize("kind", ["kernel", "fast_kernel", "fast_helper", "inlined"])
def test_such_a_call_is_seen(kind: str) -> None:
    callee = "@fast_kernel\ndef total(x):\n    return x.sum()\n"
    caller = f"from xorec.one import total as whole\n@{kind}\ndef f(x):\n    return whole(x)\n"
    trees = {"xorec.one": ast.parse(callee), "xorec.two": ast.parse(caller)}
    assert list(wrong_calls(trees)) == ["xorec.two.f calls the fast kernel whole"]


def test_a_helper_computes_what_it_computes_inlined() -> None:
    def total(x: np.ndarray) -> float:
        value = 0.0
        for at in range(len(x)):
            value += x[at] * x[at]
        return value

    helper, text = fast_helper(total), inlined(total)
    rows = np.linspace(0, 1, 1000)
    called = fast_kernel(lambda x: helper(x))(rows)
    pasted = fast_kernel(lambda x: text(x))(rows)
    assert called == pytest.approx(float(rows @ rows))
    assert pasted == pytest.approx(called)


@pytest.mark.process
def test_a_kept_kernel_is_loaded_without_the_compiler_which_is_there_when_it_is_needed(
    tmp_path: Path,
) -> None:
    """Loading is a third of a second faster so; what is compiled later calls what was loaded."""
    text = """
import sys
import numpy as np
from xorec.core.kernels import kernel

@kernel
def doubled(rows):
    out = np.empty(len(rows))
    for at in range(len(rows)):
        out[at] = 2 * rows[at]
    return out

@kernel
def total(rows):
    return np.sort(doubled(rows)).sum()

def has_compiler():
    return "numba.np.linalg" in sys.modules
"""
    (tmp_path / "mine.py").write_text(text)
    first = "print(doubled(rows).sum(), has_compiler())"
    runs = {
        first: "6.0 True",
        f"{first}; print(total(rows), has_compiler())": "6.0 False\n6.0 True",
    }
    kernels = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    for run, said in runs.items():
        done = subprocess.run(
            [sys.executable, "-c", f"from mine import *; rows = np.arange(3.0); {run}"],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT.parent}", **kernels},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.strip() == said, done.stderr


def test_the_clock_stands_still_while_kernels_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, now, told = CompileClock(), [100.0], list[str]()
    monkeypatch.setattr(kernels, "time", SimpleNamespace(monotonic=lambda: now[0]))
    watch.listen(told.append)
    seen = [watch.now()]
    for step, seconds in ((watch.begin, 30), (watch.begin, 5), (watch.end, 5), (watch.end, 2)):
        step()
        now[0] += seconds
        seen.append(watch.now())
    assert seen == [100.0] * 4 + [102.0]
    assert (watch.count, told) == (2, [kernels.COMPILING])


def test_it_knows_of_what_numba_compiles() -> None:
    from numba import njit

    kernel_cache._listen_to_numba()
    before = compiling.count, compiling._seconds
    assert njit(lambda number: number + 1)(2) == 3
    assert compiling.count > before[0]
    assert compiling._seconds > before[1]
    assert compiling._depth == 0
