import pytest

from xorec.testing.solvers import SolverTests

pytest.importorskip("xpress")


class TestXpress(SolverTests):
    name = "xpress"
    exact = True
