from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xorec.lab.reproduce.cache import Cache, Result


def test_a_part_is_made_once_and_comes_back_as_it_was(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []

    def compute() -> Result:
        made.append(1)
        return Result({"x": 0.1 + 0.2, "rows": [{"a": None}]}, {"v": np.arange(3) / 3})

    key = {"data": ["d"], "seed": 1}
    first, again = cache.get("test", key, compute), Cache(tmp_path).get("test", key, compute)
    assert len(made) == 1
    assert again.values == first.values == {"x": 0.1 + 0.2, "rows": [{"a": None}]}
    np.testing.assert_array_equal(again.arrays["v"], np.arange(3) / 3)
    assert cache.has("test", {"seed": 1, "data": ["d"]})
    assert not cache.has("choice", key)
    for other in ({**key, "seed": 2}, {**key, "more": None}, {}):
        assert not cache.has("test", other)


@pytest.mark.parametrize("digest", ["source_digest", "measuring_digest"])
def test_changed_code_makes_another_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digest: str
) -> None:
    cache, made = Cache(tmp_path), []

    def compute() -> Result:
        made.append(1)
        return Result({"number": len(made)})

    assert cache.get("test", {"seed": 1}, compute).values == {"number": 1}
    with monkeypatch.context() as patch:
        patch.setattr(f"xorec.lab.reproduce.cache.{digest}", lambda: "changed")
        assert not cache.has("test", {"seed": 1})
        assert cache.get("test", {"seed": 1}, compute).values == {"number": 2}
    assert cache.get("test", {"seed": 1}, compute).values == {"number": 1}


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)

    def fail() -> Result:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.get("test", {}, fail)
    assert not cache.has("test", {})
    with pytest.raises(TypeError):
        cache.get("test", {}, lambda: Result({"not": object()}))
    assert not cache.has("test", {})
    assert not list(tmp_path.glob("*"))
