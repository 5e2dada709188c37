from __future__ import annotations

import subprocess
import sys

import pytest

import xorec
from xorec.testing.examples import shop


def test_every_public_name_is_there() -> None:
    assert "BPR" in xorec.__all__
    assert "Recommender" in xorec.__all__
    for name in xorec.__all__:
        assert getattr(xorec, name).__name__ == name
        assert name in dir(xorec)


@pytest.mark.parametrize("name", xorec.__all__)
def test_every_public_name_shows_how_it_is_used(name: str) -> None:
    """A doctest, so the example runs (pytest --doctest-modules)."""
    assert ">>> " in (getattr(xorec, name).__doc__ or "")


METHODS = (
    "recommend recommend_many recommend_for fold_in scores popular similar similar_users explain "
    "explain_for update warm_up save load item_filter in_category from_model"
)


@pytest.mark.parametrize("name", METHODS.split())
def test_every_method_of_a_recommender_shows_how_it_is_used(name: str) -> None:
    assert ">>> " in (getattr(xorec.Recommender, name).__doc__ or "")


def test_the_older_paths_work() -> None:
    from xorec.recommender import Recommender

    assert Recommender is xorec.Recommender


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("users", "user_ids"),
        ("items", "item_ids"),
        ("prior", "item_counts"),
        ("places", "map_xy"),
        ("facts", "metadata"),
        ("only", "item_filter"),
    ],
)
def test_older_names_of_a_recommender_work_and_say_so(old: str, new: str) -> None:
    made = shop()
    with pytest.warns(DeprecationWarning, match=f"Recommender.{old} is called {new} now"):
        assert repr(getattr(made, old)) == repr(getattr(made, new))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = xorec.nothing


@pytest.mark.process
@pytest.mark.parametrize("module", ["xorec", "xorec.cli.main"])
def test_importing_costs_nothing(module: str) -> None:
    code = f"import sys, {module}; print(len([m for m in sys.modules if m.startswith('numpy')]))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "0"
