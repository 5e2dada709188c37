import pytest

from xorec.testing.solvers import SolverTests

pytest.importorskip("pyscipopt")


class TestScip(SolverTests):
    name = "scip"
    exact = True
