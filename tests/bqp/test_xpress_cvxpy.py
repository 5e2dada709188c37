import pytest

from xorec.testing.solvers import SolverTests

pytest.importorskip("cvxpy")


class TestXpressCvxpy(SolverTests):
    name = "xpress-cvxpy"
    exact = True
