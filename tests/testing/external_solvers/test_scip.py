import time

import numpy as np
import pytest

from xorec.testing.external_solvers.scip import Scip
from xorec.testing.solvers import ExternalSolverTests, random_problem
from xorec.training.discrete.bqp.base import value_of

pytest.importorskip("pyscipopt")


class TestScip(ExternalSolverTests):
    name = "scip"


def test_time_limit_is_kept_and_told() -> None:
    A, c = random_problem(90, 0)
    start = np.ones(90, dtype=np.int8)
    began = time.perf_counter()
    found = Scip(time_limit=0.5).solve(A, c, start)
    assert time.perf_counter() - began < 20
    assert not found.proven
    assert found.value <= value_of(A, c, start)
