import numpy as np
import pytest

from tests.support.external_solver_tests import ExternalSolverTests
from tests.support.external_solvers.xpress_cvxpy import XpressCvxpy
from xorec.core.errors import XorecError
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp.base import value_of

pytest.importorskip("cvxpy")
pytest.importorskip("xpress")

pytestmark = pytest.mark.exhaustive


class TestXpressCvxpy(ExternalSolverTests):
    name = "xpress-cvxpy"


def test_time_limit_is_kept_and_told() -> None:
    A, c = random_problem(90, 0)
    start = np.ones(90, dtype=np.int8)
    found = XpressCvxpy(time_limit=0.5).solve(
        A, c, start
    )  # without it, it would go on to the proof
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
