from __future__ import annotations

from types import SimpleNamespace

import pytest

from xorec.core import compiling


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's clock; nothing was compiled yet."""
    moment = [100.0]
    monkeypatch.setattr(compiling, "time", SimpleNamespace(monotonic=lambda: moment[0]))
    for name, value in {"_seconds": 0.0, "_depth": 0, "_listeners": [], "_told": 0}.items():
        monkeypatch.setattr(compiling, name, value)
    return moment


def test_the_clock_stands_still_while_kernels_compile(now: list[float]) -> None:
    assert compiling.clock() == 100.0
    compiling.begin()
    now[0] = 130.0
    assert compiling.clock() == 100.0
    compiling.begin()  # what the kernel calls
    now[0] = 135.0
    compiling.end()
    assert compiling.clock() == 100.0
    now[0] = 140.0
    compiling.end()
    assert compiling.clock() == 100.0
    now[0] = 142.0
    assert compiling.clock() == 102.0
    assert compiling.count() == 2


def test_it_knows_of_what_numba_compiles() -> None:
    from numba import njit

    import xorec.core.numba_settings  # noqa: F401

    before = compiling.count(), compiling._seconds
    assert njit(lambda number: number + 1)(2) == 3
    assert compiling.count() > before[0]
    assert compiling._seconds > before[1]
    assert compiling._depth == 0
