import numpy as np
import pytest

from tests.support.external_solver_tests import ExternalSolverTests
from tests.support.external_solvers.scip import Scip
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp.base import value_of

pytest.importorskip("pyscipopt")

pytestmark = pytest.mark.exhaustive


class TestScip(ExternalSolverTests):
    name = "scip"


def test_time_limit_is_kept_and_told() -> None:
    A, c = random_problem(90, 0)
    start = np.ones(90, dtype=np.int8)
    found = Scip(time_limit=0.5).solve(A, c, start)  # without it, it would go on to the proof
    assert not found.proven
    assert found.value <= value_of(A, c, start)
