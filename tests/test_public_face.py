from __future__ import annotations

import subprocess
import sys

import pytest

import xorec


def test_every_public_name_is_there() -> None:
    assert "BPR" in xorec.__all__
    assert "Recommender" in xorec.__all__
    for name in xorec.__all__:
        assert getattr(xorec, name).__name__ == name
        assert name in dir(xorec)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = xorec.nothing


def test_importing_costs_nothing() -> None:
    code = "import sys, xorec; print(len([m for m in sys.modules if m.startswith('numpy')]))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "0"
