import time

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.testing.external_solvers.xpress_cvxpy import XpressCvxpy
from xorec.testing.solvers import ExternalSolverTests, random_problem
from xorec.training.discrete.bqp.base import value_of

pytest.importorskip("cvxpy")
pytest.importorskip("xpress")


class TestXpressCvxpy(ExternalSolverTests):
    name = "xpress-cvxpy"


def test_time_limit_is_kept_and_told() -> None:
    A, c = random_problem(90, 0)
    start = np.ones(90, dtype=np.int8)
    began = time.perf_counter()
    found = XpressCvxpy(time_limit=0.5).solve(A, c, start)
    assert time.perf_counter() - began < 20
    assert not found.proven
    assert found.value <= value_of(A, c, start)


def test_licence_that_is_too_small_is_told() -> None:
    """Solved by a full licence; the community licence takes 200 rows and columns."""
    A, c = np.eye(256), np.ones(256)
    try:
        found = XpressCvxpy(time_limit=5.0).solve(A, c)
    except XorecError as error:
        assert "Xpress refused a problem of 256 bits" in str(error)  # noqa: PT017
    else:
        assert found.value == 0.0
